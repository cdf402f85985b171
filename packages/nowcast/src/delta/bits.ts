import type { WireOutput } from "../codec/output.js";
import { WireError } from "../errors/nowcast-error.js";

/** After this many ones, the number follows in 32 bits. */
const ONES_MAX = 20;

/**
 * Plain and Rice-coded bits in either direction. A reader ignores its arguments and returns the values that it reads.
 */
export interface Bits {
  /** The offset of the byte that is written or read. */
  readonly at: number;
  /** The lowest `count` (0 to 32) bits of a number. */
  plain(value: number, count: number): number;
  /** An unsigned number. Its code is short if the number is not much above 2^`shift`. */
  rice(value: number, shift: number): number;
}

/** Packs bits into bytes, lowest first. */
export class BitWriter implements Bits {
  readonly #out: WireOutput;
  #held = 0;
  #count = 0;

  constructor(out: WireOutput) {
    this.#out = out;
  }

  get at(): number {
    return this.#out.at;
  }

  plain(value: number, count: number): number {
    if (count > 16) {
      this.#put(value & 0xffff, 16);
      this.#put(value >>> 16, count - 16);
    } else {
      this.#put(value, count);
    }
    return value;
  }

  rice(value: number, shift: number): number {
    const ones = value >>> shift;
    if (ones >= ONES_MAX) {
      this.#put((1 << ONES_MAX) - 1, ONES_MAX);
      return this.plain(value, 32);
    }
    this.#put((1 << ones) - 1, ones + 1);
    this.#put(value & ((1 << shift) - 1), shift);
    return value;
  }

  finish(): void {
    if (this.#count > 0) this.#out.u8(this.#held);
  }

  /** Fewer than 8 bits are pending, so up to 24 more bits fit. */
  #put(value: number, count: number): void {
    this.#held |= value << this.#count;
    this.#count += count;
    while (this.#count >= 8) {
      this.#out.u8(this.#held & 0xff);
      this.#held >>>= 8;
      this.#count -= 8;
    }
  }
}

/** Reads the output of `BitWriter`, from `at` to the last byte. */
export class BitReader implements Bits {
  readonly #bytes: Uint8Array;
  #at: number;
  #held = 0;
  #count = 0;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.#at = at;
  }

  get at(): number {
    return this.#at;
  }

  plain(_: number, count: number): number {
    if (count <= 16) return this.#take(count);
    const low = this.#take(16);
    return (low | (this.#take(count - 16) << 16)) >>> 0;
  }

  rice(_: number, shift: number): number {
    let ones = 0;
    while (ones < ONES_MAX && this.#take(1) === 1) ones++;
    if (ones === ONES_MAX) return this.plain(0, 32);
    return ((ones << shift) | this.#take(shift)) >>> 0;
  }

  finish(): void {
    if (this.#at < this.#bytes.length)
      throw new WireError(`${this.#bytes.length - this.#at} bytes left over`, this.#at);
    if (this.#held !== 0) throw new WireError("bits left over in the last byte", this.#at);
  }

  /** Up to 16 bits. */
  #take(count: number): number {
    while (this.#count < count) {
      if (this.#at >= this.#bytes.length) throw new WireError("the message ends too early", this.#at);
      this.#held |= this.#bytes[this.#at++]! << this.#count;
      this.#count += 8;
    }
    const value = this.#held & ((1 << count) - 1);
    this.#held >>>= count;
    this.#count -= count;
    return value;
  }
}
