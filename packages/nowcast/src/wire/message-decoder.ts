import { WireInput } from "./input.js";
import { CODING, readNumberColumn } from "./number-columns.js";
import { KINDS, type NumberColumn } from "./numbers.js";
import { readTextColumn } from "./read-leaves.js";

/** What a column of each type is read into. */
interface Columns {
  readonly u8: Uint8Array;
  readonly u16: Uint16Array;
  readonly u32: Uint32Array;
  readonly i8: Int8Array;
  readonly i16: Int16Array;
  readonly i32: Int32Array;
  readonly f32: Float32Array;
  readonly f64: Float64Array;
}

/** Columns of up to so many bytes are read into arrays that are used again. */
const KEPT_BYTES_MAX = 64 * 1024;

/** An array for a column of one kind, and its bytes. */
interface Kept {
  readonly kind: keyof Columns;
  readonly values: NumberColumn;
  readonly raw: Uint8Array;
}

/** Up to here a loop over the bytes costs less than a call into the engine's decoder. */
const LOOP_BYTES_MAX = 18;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** What generated code reads with. It gives up by saying so, and the general reader finds out what is wrong. */
export class MessageDecoder {
  bytes: Uint8Array = new Uint8Array(0);
  view: DataView = new DataView(this.bytes.buffer);
  /** Where the body begins in `view`. */
  base = 0;
  private textAt = 0;
  /** The whole text area, when it is ASCII. */
  private ascii: string | undefined;
  private asciiStart = 0;
  /** The columns of a list. */
  private input = new WireInput(this.bytes);
  private readonly kept: Kept[] = [];
  private nextKept = 0;

  begin(body: Uint8Array): void {
    this.bytes = body;
    this.base = body.byteOffset;
    if (this.view.buffer !== body.buffer) this.view = new DataView(body.buffer);
  }

  /** Opens the text area from `start` to the end; false when it is not UTF-8. */
  texts(start: number): boolean {
    const { bytes } = this;
    const length = bytes.length - start;
    this.textAt = start;
    this.asciiStart = start;
    this.ascii = undefined;
    if (length <= LOOP_BYTES_MAX) {
      let text = "";
      for (let i = start; i < bytes.length; i++) {
        const byte = bytes[i]!;
        if (byte >= 0x80) return this.decodeArea(start);
        text += String.fromCharCode(byte);
      }
      this.ascii = text;
      return true;
    }
    return this.decodeArea(start);
  }

  /** The next `length` bytes of text; `undefined` when they are not there or not whole characters. */
  text(length: number): string | undefined {
    const at = this.textAt;
    if (length > this.bytes.length - at) return undefined;
    this.textAt = at + length;
    if (this.ascii !== undefined)
      return this.ascii.substring(at - this.asciiStart, this.textAt - this.asciiStart);
    return decode(this.bytes.subarray(at, this.textAt));
  }

  /** All text that is left. */
  rest(): string | undefined {
    if (this.ascii !== undefined && this.textAt === this.asciiStart) return this.ascii;
    return this.text(this.bytes.length - this.textAt);
  }

  /** Opens a body of one list with so many columns; returns the number of its rows. */
  rows(columns: number): number {
    const input = new WireInput(this.bytes);
    this.input = input;
    this.nextKept = 0;
    input.openText();
    const count = input.count("the length of a list");
    // As the general reader accounts for the root, for the list and for its rows.
    input.charge(72 + count * columns * 8);
    return count;
  }

  /** A column, good until the next body is read. */
  column<Kind extends keyof Columns>(kind: Kind, count: number): Columns[Kind] {
    const { input } = this;
    const isRaw = this.bytes[input.at] === CODING.raw;
    const length = count * KINDS[kind].width;
    if (!isRaw || length > KEPT_BYTES_MAX) {
      return readNumberColumn(input, KINDS[kind], count) as unknown as Columns[Kind];
    }
    const at = input.advance(1 + length, "a column") + 1;
    const from = this.bytes.subarray(at, at + length);
    if (kind === "u8") return from as Columns[Kind];
    const kept = this.keep(kind, length);
    kept.raw.set(from);
    return kept.values as unknown as Columns[Kind];
  }

  /** The array for the next column of a body; every column has its own. */
  private keep(kind: keyof Columns, length: number): Kept {
    const place = this.nextKept++;
    const known = this.kept[place];
    if (known !== undefined && known.kind === kind && known.raw.length >= length) return known;
    const values = KINDS[kind].make(Math.min(KEPT_BYTES_MAX, length * 2) / KINDS[kind].width);
    const kept = { kind, values, raw: new Uint8Array((values as Uint8Array).buffer) };
    this.kept[place] = kept;
    return kept;
  }

  textColumn(count: number): string[] {
    return readTextColumn(this.input, count);
  }

  /** Nothing may be left when all columns are read. */
  end(): void {
    this.input.mustEnd("the body");
  }

  u64(at: number): number | bigint {
    const from = this.base + at;
    const high = this.view.getUint32(from + 4, true);
    if (high < 0x20_0000) return high * 2 ** 32 + this.view.getUint32(from, true);
    return this.view.getBigUint64(from, true);
  }

  i64(at: number): number | bigint {
    const from = this.base + at;
    const high = this.view.getInt32(from + 4, true);
    if (high < 0x20_0000 && high > -0x20_0000) return high * 2 ** 32 + this.view.getUint32(from, true);
    const value = this.view.getBigInt64(from, true);
    return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  }

  private decodeArea(start: number): boolean {
    const whole = decode(this.bytes.subarray(start));
    if (whole === undefined) return false;
    if (whole.length === this.bytes.length - start) this.ascii = whole;
    return true;
  }
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}
