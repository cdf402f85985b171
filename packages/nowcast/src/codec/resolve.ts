import { NowcastError } from "../errors/nowcast-error.js";
import type { WireInput } from "./input.js";
import { KINDS, type NumberColumn } from "./numbers.js";
import {
  describeType,
  INTEGER_TAGS,
  type IntegerTag,
  type WireSchema,
  type WireType,
} from "./wire-schema.js";

/** Converts the writer's numbers to the reader's type. Fails for a value that does not fit. */
export type Converter = (input: WireInput, column: NumberColumn) => NumberColumn;

/** The error for a field whose writer's type cannot be converted to the reader's type. */
export function incompatible(
  from: WireType,
  writer: WireSchema,
  to: WireType,
  reader: WireSchema,
  path: readonly string[],
): never {
  const where = path.length === 0 ? "the value" : path.join(".");
  throw new NowcastError(
    "peer-incompatible",
    `${where}: ${describeType(from, writer)} cannot be read as ${describeType(to, reader)}`,
  );
}

/** Returns the conversion of numbers (section 7), or `undefined` if none is needed. */
export function convertNumbers(
  from: WireType,
  writer: WireSchema,
  to: WireType,
  reader: WireSchema,
  path: readonly string[],
): Converter | undefined {
  if (isInteger(to.tag) && isInteger(from.tag)) {
    const kind = KINDS[to.tag];
    const source = KINDS[from.tag];
    if (source.min >= kind.min && source.max <= kind.max) return undefined;
    return (input, column) => checkAll(input, column, kind.min, kind.max, to.tag);
  }
  if (to.tag === "f64" && FITS_F64.has(from.tag)) return undefined;
  if (to.tag === "f32" && FITS_F32.has(from.tag)) {
    return from.tag === "f32" ? undefined : (_, column) => Float32Array.from(column as Float64Array);
  }
  // A quantiser determines only how a number is written, so a reader with another quantiser can
  // read the number.
  if (isQuantised(from.tag) && to.tag === from.tag) return undefined;
  return incompatible(from, writer, to, reader, path);
}

const FITS_F32: ReadonlySet<string> = new Set(["u8", "i8", "u16", "i16", "f32", "range", "angle"]);
const FITS_F64: ReadonlySet<string> = new Set([...FITS_F32, "u32", "i32", "f64"]);

function isInteger(tag: string): tag is IntegerTag {
  return (INTEGER_TAGS as readonly string[]).includes(tag);
}

function isQuantised(tag: string): boolean {
  return tag === "range" || tag === "angle";
}

function checkAll(
  input: WireInput,
  column: NumberColumn,
  min: number | bigint,
  max: number | bigint,
  name: string,
): NumberColumn {
  for (let i = 0; i < column.length; i++) {
    const value = column[i]!;
    if (value < min || value > max) input.fail(`value ${value} does not fit ${name}`);
  }
  return column;
}
