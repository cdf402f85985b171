import { WireError } from "../errors/nowcast-error.js";

/** Limit of the memory that one message may make a reader allocate. */
export const MESSAGE_MEMORY_MAX = 64 * 1024 * 1024;
const DEPTH_MAX = 128;
const COUNT_MAX = 0xffff_ffff;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * A body being read. It never reads past its end and never uses more memory than allowed, and records the path of
 * fields for errors.
 */
export class WireInput {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  /** Names of fields from the root to the current value. */
  readonly path: string[] = [];
  at = 0;
  /** The end of the blocks, where the text area begins. */
  end: number;
  /** The offset of the next text. */
  textAt = 0;

  #flatTextsLeft = 0;
  #isWalk = false;
  #depth = 0;
  #memoryLeft: number;
  #textStart = 0;
  #textEnd = 0;
  /** The whole text area if it is ASCII; byte offsets then equal string offsets. */
  #asciiText: string | undefined;

  constructor(bytes: Uint8Array, memoryMax = MESSAGE_MEMORY_MAX) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.end = bytes.length;
    this.#memoryLeft = memoryMax;
  }

  fail(detail: string, at = this.at): never {
    throw new WireError(detail, at, this.path.join("."));
  }

  /** Charges bytes to the memory limit, before anything is allocated. */
  charge(bytes: number): void {
    this.#memoryLeft -= bytes;
    if (this.#memoryLeft < 0) this.fail("more memory than one body may use");
  }

  enter(): void {
    if (++this.#depth > DEPTH_MAX) this.fail(`more than ${DEPTH_MAX} levels`);
  }

  leave(): void {
    this.#depth--;
  }

  advance(length: number, what: string): number {
    const at = this.at;
    if (length > this.end - at) this.fail(`the message ends inside ${what}`);
    this.at = at + length;
    return at;
  }

  u8(what: string): number {
    return this.bytes[this.advance(1, what)]!;
  }

  f64(what: string): number {
    return this.view.getFloat64(this.advance(8, what), true);
  }

  raw(length: number, what: string): Uint8Array {
    const at = this.advance(length, what);
    return this.bytes.subarray(at, at + length);
  }

  /** Reads a length or count, at most 2^32 − 1. */
  count(what: string): number {
    const at = this.at;
    const value = this.varint(what);
    if (typeof value === "bigint" || value > COUNT_MAX) this.fail(`${what} is ${value}, beyond 2^32 − 1`, at);
    return value;
  }

  /** Reads LEB128 of up to 64 bits. The result is a number if it is a safe integer. */
  varint(what: string): number | bigint {
    const start = this.at;
    let value = 0;
    let scale = 1;
    // Seven groups are 49 bits, which a double represents exactly.
    for (let group = 0; group < 7; group++) {
      const byte = this.u8(what);
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if (byte === 0 && group > 0) this.fail(`${what} is a varint with a needless last byte`, start);
        return value;
      }
      scale *= 128;
    }
    let big = BigInt(value);
    for (let group = 7; group < 10; group++) {
      const byte = this.u8(what);
      big |= BigInt(byte & 0x7f) << BigInt(7 * group);
      if (byte >= 0x80) continue;
      if (byte === 0) this.fail(`${what} is a varint with a needless last byte`, start);
      if (big > 0xffff_ffff_ffff_ffffn) break;
      return narrow(big);
    }
    return this.fail(`${what} is a varint beyond 2^64 − 1`, start);
  }

  zigzag(what: string): number | bigint {
    const value = this.varint(what);
    if (typeof value === "number" && value <= Number.MAX_SAFE_INTEGER) {
      return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    }
    const big = BigInt(value);
    return narrow((big >> 1n) ^ -(big & 1n));
  }

  utf8(raw: Uint8Array, at: number): string {
    try {
      return utf8.decode(raw);
    } catch {
      return this.fail("text that is not UTF-8", at);
    }
  }

  /** Separates the text area, so that blocks cannot read into it. */
  beginText(start: number, end: number): void {
    this.end = Math.min(this.end, start);
    this.#textStart = start;
    this.textAt = start;
    this.#textEnd = end;
    if (start === end) return;
    this.charge((end - start) * 2);
    const whole = this.utf8(this.bytes.subarray(start, end), start);
    if (whole.length === end - start) this.#asciiText = whole;
  }

  /**
   * Opens the text area of a body that is not flat. The length of the area precedes all other data.
   */
  openText(): void {
    const length = this.count("the length of the text area");
    if (length > this.end - this.at) this.fail(`a text area of ${length} bytes, more than the body holds`);
    this.beginText(this.end - length, this.end);
  }

  /**
   * Begins a flat body, whose last text takes the remaining bytes. Without `textStart`, this is the pass that finds the
   * start of the text. In that pass every text is read as empty.
   */
  beginFlat(texts: number, textStart: number | undefined): void {
    this.#flatTextsLeft = texts;
    this.#isWalk = textStart === undefined;
    if (textStart !== undefined) this.beginText(textStart, this.bytes.length);
  }

  /** Counts the remaining texts of a flat body. */
  isLastFlatText(): boolean {
    return --this.#flatTextsLeft === 0;
  }

  /** The length of a flat body's last text: all remaining text. */
  get textLeft(): number {
    return this.#textEnd - this.textAt;
  }

  text(length: number): string {
    if (this.#isWalk) return "";
    const at = this.textAt;
    if (length > this.#textEnd - at) this.fail(`${length} bytes of text, more than the text area holds`);
    this.textAt = at + length;
    if (this.#asciiText !== undefined)
      return this.#asciiText.substring(at - this.#textStart, this.textAt - this.#textStart);
    return length === 0 ? "" : this.utf8(this.bytes.subarray(at, at + length), at);
  }

  mustEnd(what: string): void {
    if (this.at !== this.end) this.fail(`${this.end - this.at} bytes left over after ${what}`);
    if (this.textAt !== this.#textEnd)
      this.fail(`${this.#textEnd - this.textAt} bytes of text left over`, this.textAt);
  }
}

/** Returns a safe integer as a number, and every other integer unchanged. */
export function narrow(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
