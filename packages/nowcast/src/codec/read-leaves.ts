import { WireError } from "../errors/nowcast-error.js";
import type { Block } from "./block.js";
import type { WireInput } from "./input.js";
import { MsgpackReader } from "./msgpack-reader.js";
import { readLengths, readNumberColumn, readRaw, widthOfCodes } from "./number-columns.js";
import { KINDS, type NumberColumn, type NumberKind, readPacked, U8, U16, unsignedKind } from "./numbers.js";
import { dequantiseAngle, dequantiseQuat, dequantiseRange, rangeWidth, readPlainQuat } from "./quantise.js";
import type { Column, WireValue } from "./value.js";
import type { IntegerTag, WireType } from "./wire-schema.js";

export const TEXT_DIRECT = 0;
const TEXT_DICTIONARY = 2;
const DICTIONARY_MAX = 65_536;

/** Reads bools: a column (section 5.3), or the bits in front of a plain block. */
export function readBools(input: WireInput, block: Block): boolean[] {
  if (!block.isColumnar) return Array.from({ length: block.count }, () => block.nextBit(input));
  const start = input.at;
  const coding = input.u8("the coding of a bool column");
  if (coding <= 1) return new Array<boolean>(block.count).fill(coding === 1);
  if (coding !== 2) input.fail(`coding ${coding} in a column of bool`, start);
  return Array.from(readPacked(input, block.count, 1), (bit) => bit === 1);
}

/**
 * Reads texts (section 5.4). The last text of a flat body has no length; `isLastFlatText` says
 * whether it is reached.
 */
export function readTexts(input: WireInput, block: Block): string[] {
  if (!block.isColumnar) {
    if (input.isLastFlatText()) return [input.text(input.textLeft)];
    return Array.from(readLengths(input, block.count), (length) => chargedText(input, length));
  }
  return readTextColumn(input, block.count);
}

/** Reads a column of at least four texts (section 5.4). */
export function readTextColumn(input: WireInput, count: number): string[] {
  const start = input.at;
  const coding = input.u8("the coding of a text column");
  if (coding === TEXT_DIRECT) {
    return takeTexts(input, readLengths(input, count));
  }
  if (coding !== TEXT_DICTIONARY) input.fail(`coding ${coding} in a column of text`, start);
  const size = input.count("the size of a dictionary");
  if (size < 1 || size > DICTIONARY_MAX) input.fail(`a dictionary of ${size} entries`, start);
  input.charge(size * 16);
  const lengths = readLengths(input, size);
  const codes = readPacked(input, count, widthOfCodes(size));
  const entries = takeTexts(input, lengths);
  return Array.from(codes, (code) => {
    if (code >= size) input.fail(`code ${code} of a dictionary of ${size}`, start);
    return entries[code]!;
  });
}

/** The next texts of these lengths. */
function takeTexts(input: WireInput, lengths: ArrayLike<number>): string[] {
  const texts = new Array<string>(lengths.length);
  for (let i = 0; i < lengths.length; i++) texts[i] = chargedText(input, lengths[i]!);
  return texts;
}

function chargedText(input: WireInput, length: number): string {
  input.charge(length);
  return input.text(length);
}

/** Reads leaves of the types bytes and any: the lengths, then the bytes of all values. */
export function readChunks(
  input: WireInput,
  block: Block,
  make: (raw: Uint8Array, at: number) => WireValue,
): WireValue[] {
  const lengths = readLengths(input, block.count);
  const column = new Array<WireValue>(block.count);
  for (let i = 0; i < block.count; i++) {
    const at = input.at;
    const raw = input.raw(lengths[i]!, "bytes");
    input.charge(raw.length);
    column[i] = make(raw, at);
  }
  return column;
}

/** One MessagePack value of known length. */
export function readAny(input: WireInput, raw: Uint8Array, at: number): WireValue {
  // An empty array takes one byte in the message but a dozen bytes in memory.
  input.charge(raw.length * 16);
  try {
    const reader = new MsgpackReader(raw);
    const value = reader.value();
    reader.end();
    return value;
  } catch (error) {
    if (error instanceof WireError) return input.fail(error.detail, at + error.offset);
    throw error;
  }
}

/** Reads a leaf of numbers or quantised numbers. */
export function numberReader(type: WireType): (input: WireInput, block: Block) => NumberColumn {
  switch (type.tag) {
    case "range": {
      const kind = unsignedKind(rangeWidth(type.low, type.high, type.step));
      return (input, block) => dequantiseRange(input, readNumbers(input, block, kind), type);
    }
    case "angle": {
      const kind = type.bits === 8 ? U8 : U16;
      return (input, block) =>
        Float64Array.from(readNumbers(input, block, kind) as Uint16Array, (steps) =>
          dequantiseAngle(steps, type.bits),
        );
    }
    case "uvar":
    case "ivar":
      return variableReader(type.tag === "uvar");
    default: {
      const kind = KINDS[type.tag as IntegerTag | "f32" | "f64"];
      return (input, block) => readNumbers(input, block, kind);
    }
  }
}

function variableReader(unsigned: boolean): (input: WireInput, block: Block) => NumberColumn {
  const kind = unsigned ? KINDS.uvar : KINDS.ivar;
  const read = unsigned
    ? (input: WireInput) => input.varint("a uvar")
    : (input: WireInput) => input.zigzag("an ivar");
  return (input, block) => {
    if (block.isColumnar) return readNumberColumn(input, kind, block.count);
    return Array.from({ length: block.count }, () => read(input));
  };
}

function readNumbers(input: WireInput, block: Block, kind: NumberKind): NumberColumn {
  return block.isColumnar ? readNumberColumn(input, kind, block.count) : readRaw(input, kind, block.count);
}

export function readQuats(input: WireInput, block: Block, bits: number): number[][] {
  input.charge(block.count * 64);
  if (!block.isColumnar) return Array.from({ length: block.count }, () => readPlainQuat(input, bits));
  const indices = readNumberColumn(input, U8, block.count) as Uint8Array;
  const [a, b, c] = [0, 1, 2].map(() => readNumberColumn(input, U16, block.count) as Uint16Array);
  return Array.from(indices, (index, i) => dequantiseQuat(input, [index, a![i]!, b![i]!, c![i]!], bits));
}

/** Splits a column into one array for each row. */
export function slices(values: Column, lengths: ArrayLike<number>): WireValue[] {
  const rows = new Array<WireValue>(lengths.length);
  for (let row = 0, at = 0; row < lengths.length; row++) {
    const end = at + lengths[row]!;
    const slice = new Array<WireValue>(lengths[row]!);
    for (let i = at; i < end; i++) slice[i - at] = values[i]!;
    rows[row] = slice;
    at = end;
  }
  return rows;
}

/** Converts columns to rows. */
export function rowsOf(
  columns: readonly Column[],
  count: number,
  make: (values: WireValue[]) => WireValue,
): WireValue[] {
  const rows = new Array<WireValue>(count);
  for (let row = 0; row < count; row++) {
    const values = new Array<WireValue>(columns.length);
    for (let i = 0; i < columns.length; i++) values[i] = columns[i]![row]!;
    rows[row] = make(values);
  }
  return rows;
}

/** Returns the total number of rows in nested blocks. */
export function sum(input: WireInput, lengths: ArrayLike<number>): number {
  let total = 0;
  for (let i = 0; i < lengths.length; i++) total += lengths[i]!;
  if (total > 0xffff_ffff) input.fail(`${total} rows in one block, beyond 2^32 − 1`);
  return total;
}
