import { WireError } from "../errors/nowcast-error.js";

/** After this many ones, the number follows in 32 bits. */
const ONES_MAX = 20;

/** Reads bits, the lowest of a byte first, from `at` to the last byte. */
export class BitReader {
  readonly #bytes: Uint8Array;
  #at: number;
  readonly #field: string;
  #held = 0;
  #count = 0;

  /** `field` names the place of invalid bytes. */
  constructor(bytes: Uint8Array, at: number, field = "") {
    this.#bytes = bytes;
    this.#at = at;
    this.#field = field;
  }

  /** The offset of the byte that is read next. */
  get at(): number {
    return this.#at;
  }

  /** Reads an unsigned number of 0 to 32 bits. */
  plain(count: number): number {
    if (count <= 16) return this.#take(count);
    const low = this.#take(16);
    return (low | (this.#take(count - 16) << 16)) >>> 0;
  }

  /** Reads an unsigned number whose code is short if it is not much above 2^`shift`. */
  rice(shift: number): number {
    let ones = 0;
    while (ones < ONES_MAX && this.#take(1) === 1) ones++;
    if (ones === ONES_MAX) return this.plain(32);
    return ((ones << shift) | this.plain(shift)) >>> 0;
  }

  /** Refuses unread bytes and non-zero filling. */
  finish(): void {
    if (this.#at < this.#bytes.length)
      throw this.#refused(`${this.#bytes.length - this.#at} bytes left over`);
    if (this.#held !== 0) throw this.#refused("bits left over in the last byte");
  }

  /** Up to 16 bits. */
  #take(count: number): number {
    while (this.#count < count) {
      if (this.#at >= this.#bytes.length) throw this.#refused("the message ends too early");
      this.#held |= this.#bytes[this.#at++]! << this.#count;
      this.#count += 8;
    }
    const value = this.#held & ((1 << count) - 1);
    this.#held >>>= count;
    this.#count -= count;
    return value;
  }

  #refused(detail: string): WireError {
    return new WireError(detail, this.#at, this.#field);
  }
}
