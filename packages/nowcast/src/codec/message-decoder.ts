import { narrow, WireInput } from "./input.js";
import {
  type IntegerBounds,
  type IntegerColumn,
  nextInteger,
  openIntegers,
  rawIntegers,
} from "./integer-reader.js";
import { CODING, readNumberColumn } from "./number-columns.js";
import { KINDS, type NumberColumn } from "./numbers.js";
import { readTextColumn, TEXT_DIRECT } from "./read-leaves.js";

/**
 * The general reader handles longer bodies, because positions in a body and its spilled columns are
 * counted in bits, in 32-bit numbers.
 */
const BYTES_MAX = 2 ** 27;
/** Memory that is kept for spilled columns, in bytes. */
const SPILL_BYTES_MAX = 256 * 1024;

/** Integers of up to 32 bits. */
type IntegerKind = "u16" | "u32" | "i16" | "i32";

const INTEGER_BOUNDS: Readonly<Record<IntegerKind, IntegerBounds>> = {
  u16: { min: 0, max: 0xffff, width: 2 },
  u32: { min: 0, max: 0xffff_ffff, width: 4 },
  i16: { min: -0x8000, max: 0x7fff, width: 2 },
  i32: { min: -0x8000_0000, max: 0x7fff_ffff, width: 4 },
};

/**
 * Up to this length, one call of `String.fromCharCode` with all units costs less than a call of the engine's text
 * decoder. A call of the decoder costs more in browsers than in Node.
 */
const UNITS_MAX = "process" in globalThis ? 28 : 56;
/**
 * Reused argument lists for such calls, by length, because engines pass on a list of small integers
 * directly.
 */
const UNITS = Array.from({ length: UNITS_MAX + 1 }, (_, length) => new Array<number>(length).fill(0));

/** Converts eight bytes to a number, without a view for every body. */
const DOUBLE = new Float64Array(1);
const SINGLE = new Float32Array(DOUBLE.buffer);
const BITS = new Uint8Array(DOUBLE.buffer);

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The reader that generated code uses. If it fails, the general reader finds the fault. */
export class MessageDecoder {
  /** The body. */
  bytes: Uint8Array = new Uint8Array(0);
  #textAt = 0;
  /** The whole text area, if it is ASCII. */
  #ascii: string | undefined;
  #asciiStart = 0;
  /** The columns of a list. */
  #input = new WireInput(this.bytes);
  /** The memory of the columns from `place`: the body, or a copy of it followed by spilled columns. */
  view = this.#input.view;
  #cells: Uint8Array = this.bytes;
  #spilled = 0;
  #spill = new Uint8Array(0);
  #spillView = this.view;

  /** Opens the text area from `start` to the end. Returns false if it is not UTF-8. */
  texts(start: number): boolean {
    const { bytes } = this;
    this.#textAt = start;
    this.#asciiStart = start;
    this.#ascii = shortAscii(bytes, start);
    if (this.#ascii !== undefined) return true;
    const whole = decode(bytes.subarray(start));
    if (whole === undefined) return false;
    if (whole.length === bytes.length - start) this.#ascii = whole;
    return true;
  }

  /** The next `length` bytes of text; `undefined` if they are missing or end inside a character. */
  text(length: number): string | undefined {
    const at = this.#textAt;
    if (length > this.bytes.length - at) return undefined;
    this.#textAt = at + length;
    if (this.#ascii !== undefined)
      return this.#ascii.substring(at - this.#asciiStart, this.#textAt - this.#asciiStart);
    return decode(this.bytes.subarray(at, this.#textAt));
  }

  /** Reads all remaining text. */
  rest(): string | undefined {
    if (this.#ascii !== undefined && this.#textAt === this.#asciiStart) return this.#ascii;
    return this.text(this.bytes.length - this.#textAt);
  }

  /**
   * Opens a body that is one list, with this many values in a row. Returns the number of its rows, or 0 if the body is
   * too long.
   */
  rows(values: number): number {
    if (this.bytes.length > BYTES_MAX) return 0;
    const input = new WireInput(this.bytes);
    this.#input = input;
    this.#cells = this.bytes;
    this.view = input.view;
    if (this.#spill.length > SPILL_BYTES_MAX) this.#spill = new Uint8Array(0);
    input.openText();
    const count = input.count("the length of a list");
    // The charge equals that of the general reader: memory for the root, the list and its rows.
    input.charge(72 + count * values * 8);
    return count;
  }

  /**
   * Opens a column of numbers that are usually unpacked, and returns the position of its values in `view`. Read `view`
   * only when all columns are open.
   */
  place(kind: "u8" | "i8" | "f32" | "f64", count: number): number {
    const input = this.#input;
    if (this.bytes[input.at] === CODING.raw) {
      return input.advance(1 + count * KINDS[kind].width, "a column") + 1;
    }
    return this.#put(readNumberColumn(input, KINDS[kind], count) as Exclude<NumberColumn, unknown[]>);
  }

  /**
   * Decodes a column that is not raw into additional memory (spills it). Before the first spilled
   * column, the body is copied, so that all data is in one view.
   */
  #put({ buffer, byteOffset, byteLength }: Exclude<NumberColumn, unknown[]>): number {
    const start = this.#cells === this.bytes ? this.bytes.length : this.#spilled;
    this.#spilled = start + byteLength;
    if (this.#spilled > this.#spill.length) {
      this.#spill = new Uint8Array(this.#spilled * 2);
      this.#spillView = new DataView(this.#spill.buffer);
      this.#spill.set(this.#cells.subarray(0, start));
    } else if (this.#cells === this.bytes) {
      this.#spill.set(this.bytes);
    }
    this.#cells = this.#spill;
    this.view = this.#spillView;
    this.#spill.set(new Uint8Array(buffer, byteOffset, byteLength), start);
    return start;
  }

  /** Opens a column of integers. Like all columns, it is then in `view`. */
  integers(kind: IntegerKind, count: number): IntegerColumn {
    const input = this.#input;
    const bounds = INTEGER_BOUNDS[kind];
    let column = openIntegers(this.view, input.at, input.end, bounds, count);
    if (column === undefined && this.#cells === this.bytes) {
      // This is usually the last column, after which four bytes cannot be read. In a longer copy of
      // the body they can be read.
      this.#put(new Int32Array(1));
      column = openIntegers(this.view, input.at, input.end, bounds, count);
    }
    if (column !== undefined) {
      input.at = column.end;
      return column;
    }
    const values = readNumberColumn(input, KINDS[kind], count) as ArrayLike<number>;
    return rawIntegers(this.#put(Int32Array.from(values)), count, 4);
  }

  textColumn(count: number): string[] {
    const input = this.#input;
    if (this.bytes[input.at] !== TEXT_DIRECT) return readTextColumn(input, count);
    input.advance(1, "the coding of a text column");
    const lengths = this.integers("u32", count);
    const { view } = this;
    const texts = new Array<string>(count);
    let length = lengths.before;
    for (let i = 0; i < count; i++) {
      length = nextInteger(view, lengths, length, i);
      input.charge(length >>> 0);
      texts[i] = input.text(length >>> 0);
    }
    return texts;
  }

  /** Checks that no bytes are left after all columns were read. */
  end(): void {
    this.#input.mustEnd("the body");
  }

  u16(at: number): number {
    const { bytes } = this;
    return bytes[at]! | (bytes[at + 1]! << 8);
  }

  i32(at: number): number {
    const { bytes } = this;
    return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
  }

  f32(at: number): number {
    const { bytes } = this;
    for (let i = 0; i < 4; i++) BITS[i] = bytes[at + i]!;
    return SINGLE[0]!;
  }

  f64(at: number): number {
    const { bytes } = this;
    for (let i = 0; i < 8; i++) BITS[i] = bytes[at + i]!;
    return DOUBLE[0]!;
  }

  u64(at: number): number | bigint {
    const high = this.i32(at + 4) >>> 0;
    const low = this.i32(at) >>> 0;
    if (high < 0x20_0000) return high * 2 ** 32 + low;
    return (BigInt(high) << 32n) | BigInt(low);
  }

  i64(at: number): number | bigint {
    const high = this.i32(at + 4);
    const low = this.i32(at) >>> 0;
    if (high < 0x20_0000 && high > -0x20_0000) return high * 2 ** 32 + low;
    return narrow((BigInt(high) << 32n) | BigInt(low));
  }
}

/** Returns the text after `start`, if it is short and ASCII. */
function shortAscii(bytes: Uint8Array, start: number): string | undefined {
  const length = bytes.length - start;
  if (length > UNITS_MAX) return undefined;
  const units = UNITS[length]!;
  let all = 0;
  for (let i = 0; i < length; i++) {
    const byte = bytes[start + i]!;
    all |= byte;
    units[i] = byte;
  }
  return all > 0x7f ? undefined : String.fromCharCode.apply(null, units);
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}
