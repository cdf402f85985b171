import { WireError } from "../errors/nowcast-error.js";

const MATCH_MIN = 4;

/**
 * Decodes one LZ4 block (https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md) with a known decoded length. It
 * never reads or writes out of bounds, even for malformed blocks.
 */
export function decodeLz4Block(block: Uint8Array, rawLength: number): Uint8Array<ArrayBuffer> {
  // Decompression yields at most 255 times the size, so a greater raw length is an attack.
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

/** A match may overlap its own output, and then repeats. */
function copyMatch(raw: Uint8Array, to: number, offset: number, length: number): void {
  if (offset >= length) raw.copyWithin(to, to - offset, to - offset + length);
  else for (let i = 0; i < length; i++) raw[to + i] = raw[to + i - offset]!;
}

/** A match must not begin in the last 12 bytes, and must not reach into the last 5 bytes. */
const MATCH_START_MARGIN = 12;
const LAST_LITERALS = 5;
const OFFSET_MAX = 0xffff;
const HASH_BITS = 14;

/** Encodes one LZ4 block greedily, with one lookup for each position, like `lz4 -1`. */
export function encodeLz4Block(raw: Uint8Array): Uint8Array<ArrayBuffer> {
  const block = new Uint8Array(raw.length + Math.ceil(raw.length / 255) + 16);
  const table = new Int32Array(1 << HASH_BITS).fill(-1);
  const word = (at: number): number =>
    raw[at]! | (raw[at + 1]! << 8) | (raw[at + 2]! << 16) | (raw[at + 3]! << 24);
  let to = 0;
  let anchor = 0;
  const more = (length: number): void => {
    let rest = length - 15;
    for (; rest >= 255; rest -= 255) block[to++] = 255;
    block[to++] = rest;
  };
  /** Writes the literals from the anchor to `end`, followed by a match if it has a length. */
  const sequence = (end: number, offset: number, length: number): void => {
    const literals = end - anchor;
    const matched = length - MATCH_MIN;
    block[to++] = (Math.min(literals, 15) << 4) | (length === 0 ? 0 : Math.min(matched, 15));
    if (literals >= 15) more(literals);
    block.set(raw.subarray(anchor, end), to);
    to += literals;
    if (length === 0) return;
    block[to++] = offset;
    block[to++] = offset >> 8;
    if (matched >= 15) more(matched);
    anchor = end + length;
  };
  for (let at = 0; at < raw.length - MATCH_START_MARGIN; ) {
    const sought = word(at);
    const slot = Math.imul(sought, 0x9e37_79b1) >>> (32 - HASH_BITS);
    const from = table[slot]!;
    table[slot] = at;
    if (from < 0 || at - from > OFFSET_MAX || word(from) !== sought) {
      at++;
      continue;
    }
    let length = MATCH_MIN;
    while (at + length < raw.length - LAST_LITERALS && raw[from + length] === raw[at + length]) length++;
    sequence(at, at - from, length);
    at += length;
  }
  sequence(raw.length, 0, 0);
  return block.slice(0, to);
}
