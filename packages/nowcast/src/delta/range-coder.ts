import type { WireOutput } from "../codec/output.js";
import { WireError } from "../errors/nowcast-error.js";

/**
 * A binary arithmetic coder without carries (`spec/DELTA.md`, section 9.1).
 *
 * It keeps an interval of 32-bit numbers and splits it by the probability of each bit. Leading bytes on which both ends
 * of the interval agree are final, and leave it. The same interface serves both directions: a
 * decoder ignores the argument and returns the bit that it reads.
 */
export interface RangeCoder {
  /** The offset of the byte that is written or read. */
  readonly at: number;
  /** Codes one bit, which is set with probability `set` / 65,536. */
  bit(bit: number, set: number): number;
}

/**
 * Returns the split point of the interval. The product stays below 2^48, so a double represents it
 * exactly.
 */
function split(low: number, high: number, set: number): number {
  return low + Math.floor(((high - low) * set) / 65536);
}

export class RangeEncoder implements RangeCoder {
  readonly #out: WireOutput;
  /** The ends of the interval, in an array: engines box a field that needs more than 31 bits. */
  readonly #ends = Uint32Array.of(0, 0xffff_ffff);

  constructor(out: WireOutput) {
    this.#out = out;
  }

  get at(): number {
    return this.#out.at;
  }

  bit(bit: number, set: number): number {
    let low = this.#ends[0]!;
    let high = this.#ends[1]!;
    const middle = split(low, high, set);
    if (bit === 1) high = middle;
    else low = middle + 1;
    while ((low ^ high) >>> 24 === 0) {
      this.#out.u8(high >>> 24);
      low = (low << 8) >>> 0;
      high = ((high << 8) | 0xff) >>> 0;
    }
    this.#ends[0] = low;
    this.#ends[1] = high;
    return bit;
  }

  /** Writes the bytes that are still needed to decode the last bits. */
  finish(): void {
    for (const byte of tail(this.#ends[0]!, this.#ends[1]!)) this.#out.u8(byte);
  }
}

/** Number of bytes that are read ahead. An encoder omits at most this many zeros. */
const AHEAD = 4;

export class RangeDecoder implements RangeCoder {
  readonly #bytes: Uint8Array;
  /** The ends of the interval, in an array: engines box a field that needs more than 31 bits. */
  readonly #ends = Uint32Array.of(0, 0xffff_ffff);
  #code = 0;
  #at: number;

  constructor(bytes: Uint8Array, start: number) {
    this.#bytes = bytes;
    this.#at = start;
    for (let ahead = 0; ahead < AHEAD; ahead++) this.#code = this.#next(this.#code);
  }

  get at(): number {
    return Math.min(this.#at - AHEAD, this.#bytes.length);
  }

  bit(_: number, set: number): number {
    let low = this.#ends[0]!;
    let high = this.#ends[1]!;
    const middle = split(low, high, set);
    const bit = this.#code <= middle ? 1 : 0;
    if (bit === 1) high = middle;
    else low = middle + 1;
    while ((low ^ high) >>> 24 === 0) {
      low = (low << 8) >>> 0;
      high = ((high << 8) | 0xff) >>> 0;
      this.#code = this.#next(this.#code);
    }
    this.#ends[0] = low;
    this.#ends[1] = high;
    return bit;
  }

  /** Checks that the last bytes are exactly those that an encoder writes. */
  finish(): void {
    // Because four bytes are read ahead, the encoder wrote its last bytes here.
    const written = this.#at - AHEAD;
    const expected = tail(this.#ends[0]!, this.#ends[1]!);
    const isWhole =
      this.#bytes.length === written + expected.length &&
      expected.every((byte, at) => this.#bytes[written + at] === byte);
    if (!isWhole) throw new WireError("the last bytes are not those that an encoder writes", written);
  }

  #next(code: number): number {
    if (this.#at >= this.#bytes.length + AHEAD) throw new WireError("the message ends too early", this.at);
    const byte = this.#at < this.#bytes.length ? this.#bytes[this.#at]! : 0;
    this.#at++;
    return ((code << 8) | byte) >>> 0;
  }
}

/** Returns the fewest bytes that, followed by zeros, are a number from `low` to `high`. */
function tail(low: number, high: number): number[] {
  for (let count = 0; count < 4; count++) {
    const unit = 2 ** (32 - 8 * count);
    const value = Math.ceil(low / unit) * unit;
    if (value <= high) return leading(value, count);
  }
  return leading(low, 4);
}

function leading(value: number, count: number): number[] {
  return Array.from({ length: count }, (_, at) => (value >>> (24 - 8 * at)) & 0xff);
}
