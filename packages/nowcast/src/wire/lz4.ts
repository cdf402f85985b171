import { WireError } from "../errors.js";

const MATCH_MIN = 4;

/**
 * Decodes one LZ4 block (https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md) of which the decoded length is
 * known. Nothing is read or written beyond either end, whatever the block says.
 */
export function decodeLz4Block(block: Uint8Array, rawLength: number): Uint8Array<ArrayBuffer> {
  // The format cannot grow data more than 255 times, so a greater claim is a bomb.
  if (rawLength > 255 * block.length + 64)
    throw new WireError(`a raw length of ${rawLength}, which LZ4 cannot reach`, 0);
  const raw = new Uint8Array(rawLength);
  let at = 0;
  let to = 0;
  const fail = (what: string): never => {
    throw new WireError(`an LZ4 block with ${what}`, at);
  };
  /** Fifteen in a token means that more bytes follow, up to the first that is not 255. */
  const longer = (length: number): number => {
    let total = length;
    if (length !== 15) return total;
    for (;;) {
      if (at >= block.length) fail("a length that ends early");
      const byte = block[at++]!;
      total += byte;
      if (byte !== 255) return total;
    }
  };
  while (at < block.length) {
    const token = block[at++]!;
    const literals = longer(token >> 4);
    if (literals > block.length - at) fail("literals beyond its end");
    if (literals > rawLength - to) fail(`more than ${rawLength} bytes inside`);
    raw.set(block.subarray(at, at + literals), to);
    at += literals;
    to += literals;
    // The last sequence has no match.
    if (at === block.length) break;
    if (block.length - at < 2) fail("an offset that ends early");
    const offset = block[at]! | (block[at + 1]! << 8);
    at += 2;
    if (offset === 0 || offset > to) fail(`an offset of ${offset} at ${to}`);
    const length = longer(token & 15) + MATCH_MIN;
    if (length > rawLength - to) fail(`more than ${rawLength} bytes inside`);
    copyMatch(raw, to, offset, length);
    to += length;
  }
  if (to !== rawLength) fail(`${to} bytes inside, not ${rawLength}`);
  return raw;
}

/** A match may overlap what it makes: then it repeats. */
function copyMatch(raw: Uint8Array, to: number, offset: number, length: number): void {
  if (offset >= length) raw.copyWithin(to, to - offset, to - offset + length);
  else for (let i = 0; i < length; i++) raw[to + i] = raw[to + i - offset]!;
}
