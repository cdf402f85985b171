import type { WireInput } from "./input.js";
import { F32, I64, type NumberColumn, type NumberKind, readPacked, U32 } from "./numbers.js";

/** Coding bytes of number columns: `spec/WIRE.md`, section 5.1. */
export const CODING = {
  raw: 0,
  same: 1,
  dictionary: 2,
  sparse: 3,
  decimal: 4,
  single: 5,
  planes: 6,
  short: 7,
  packed: 0x10,
  delta: 0x20,
} as const;

/** The range of packed, delta and decimal columns of 64-bit integers, so that doubles compute them exactly. */
export const EXACT_MAX = 2 ** 52;
export const DECIMAL_EXPONENT_MAX = 22;
const DICTIONARY_MAX = 65_536;

/** The codings of a column inside another column. */
interface Allowed {
  readonly decimalAndSingle: boolean;
  readonly sparse: boolean;
}

const EVERYTHING: Allowed = { decimalAndSingle: true, sparse: true };
const IN_FLOAT: Allowed = { decimalAndSingle: false, sparse: true };
const IN_SPARSE: Allowed = { decimalAndSingle: false, sparse: false };

/** A column of `count` numbers, at least four. */
export function readNumberColumn(input: WireInput, kind: NumberKind, count: number): NumberColumn {
  return readColumn(input, kind, count, EVERYTHING);
}

function readColumn(input: WireInput, kind: NumberKind, count: number, allowed: Allowed): NumberColumn {
  const start = input.at;
  const coding = input.u8("the coding of a column");
  switch (coding) {
    case CODING.raw:
      return readRaw(input, kind, count);
    case CODING.same: {
      const values = kind.make(count);
      return fill(values, readOne(input, kind));
    }
    case CODING.dictionary:
      return readDictionary(input, kind, count);
    case CODING.sparse:
      if (!allowed.sparse) break;
      return readSparse(input, kind, count);
    case CODING.decimal:
      if (!kind.isFloat || !allowed.decimalAndSingle) break;
      return readDecimal(input, kind, count);
    case CODING.single: {
      if (kind.name !== "f64" || !allowed.decimalAndSingle) break;
      return Float64Array.from(readColumn(input, F32, count, IN_FLOAT) as Float32Array);
    }
    case CODING.short: {
      if (kind.name !== "f64" || !allowed.decimalAndSingle) break;
      return Float64Array.from(readColumn(input, F32, count, IN_FLOAT) as Float32Array, widenShort);
    }
    case CODING.planes:
      if (kind.width < 2) break;
      return readPlanes(input, kind, count);
    default:
      if (kind.isFloat) break;
      if (coding >= CODING.packed && coding <= CODING.packed + 8) {
        return readPackedColumn(input, kind, count, coding - CODING.packed);
      }
      if (coding >= CODING.delta && coding <= CODING.delta + 8) {
        return readDelta(input, kind, count, coding - CODING.delta);
      }
  }
  return input.fail(`coding 0x${coding.toString(16)} in a column of ${kind.name}`, start);
}

function readOne(input: WireInput, kind: NumberKind): number | bigint {
  return kind.read(input.view, input.advance(kind.width, `a ${kind.name}`));
}

/** `count` unpacked numbers. */
export function readRaw(input: WireInput, kind: NumberKind, count: number): NumberColumn {
  const at = input.advance(count * kind.width, `${count} values of ${kind.name}`);
  const values = kind.make(count);
  if (!Array.isArray(values) && kind.width === values.BYTES_PER_ELEMENT && count > 16) {
    // The bytes are copied once into an aligned array. This is correct because every engine that
    // runs JavaScript today is little-endian.
    new Uint8Array(values.buffer).set(input.bytes.subarray(at, at + count * kind.width));
    return values;
  }
  for (let i = 0; i < count; i++) values[i] = kind.read(input.view, at + i * kind.width);
  return values;
}

function fill(values: NumberColumn, value: number | bigint): NumberColumn {
  (values as { fill(value: number | bigint): unknown }).fill(value);
  return values;
}

function readDictionary(input: WireInput, kind: NumberKind, count: number): NumberColumn {
  const start = input.at;
  const size = input.count("the size of a dictionary");
  if (size < 2 || size > DICTIONARY_MAX) input.fail(`a dictionary of ${size} entries`, start);
  const entries = readRaw(input, kind, size);
  const codes = readPacked(input, count, widthOfCodes(size));
  const values = kind.make(count);
  for (let i = 0; i < count; i++) {
    if (codes[i]! >= size) input.fail(`code ${codes[i]} of a dictionary of ${size}`, start);
    values[i] = entries[codes[i]!]!;
  }
  return values;
}

/** The smallest width index that holds `size − 1`. */
export function widthOfCodes(size: number): number {
  return size <= 1 ? 0 : size <= 2 ? 1 : size <= 4 ? 2 : size <= 16 ? 3 : size <= 256 ? 4 : 5;
}

function readSparse(input: WireInput, kind: NumberKind, count: number): NumberColumn {
  const values = fill(kind.make(count), readOne(input, kind));
  const differs = readPacked(input, count, 1);
  let different = 0;
  for (let i = 0; i < count; i++) different += differs[i]!;
  if (different === 0) return values;
  const others =
    different <= 3 ? readRaw(input, kind, different) : readColumn(input, kind, different, IN_SPARSE);
  for (let i = 0, next = 0; i < count; i++) if (differs[i] === 1) values[i] = others[next++]!;
  return values;
}

function readDecimal(input: WireInput, kind: NumberKind, count: number): NumberColumn {
  const start = input.at;
  const exponent = input.u8("the exponent of a decimal column");
  if (exponent > DECIMAL_EXPONENT_MAX) input.fail(`a decimal exponent of ${exponent}`, start);
  const mantissas = readColumn(input, I64, count, IN_FLOAT);
  const divisor = 10 ** exponent;
  const values = kind.make(count);
  for (let i = 0; i < count; i++) {
    const mantissa = mantissas[i]!;
    if (typeof mantissa === "bigint" || Math.abs(mantissa) > EXACT_MAX) {
      input.fail(`a decimal mantissa of ${mantissa}, beyond 2^52`, start);
    }
    values[i] = mantissa / divisor;
  }
  return values;
}

/** Returns the double that equals the shortest decimal of a single: `spec/WIRE.md`, section 5.2. */
export function widenShort(single: number): number {
  const size = Math.abs(single);
  if (!Number.isFinite(size)) return single;
  for (let places = 0; places <= 22; places++) {
    const power = 10 ** places;
    const whole = roundTiesToEven(size * power);
    if (whole > 2 ** 53) break;
    const decimal = whole / power;
    if (Math.fround(decimal) === size) return single < 0 || Object.is(single, -0) ? -decimal : decimal;
  }
  return single;
}

function roundTiesToEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  return rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? below + 1 : below;
}

function readPlanes(input: WireInput, kind: NumberKind, count: number): NumberColumn {
  const { width } = kind;
  const at = input.advance(count * width, "the planes of a column");
  const one = new DataView(new ArrayBuffer(8));
  const values = kind.make(count);
  for (let i = 0; i < count; i++) {
    for (let plane = 0; plane < width; plane++) one.setUint8(plane, input.bytes[at + plane * count + i]!);
    values[i] = kind.read(one, 0);
  }
  return values;
}

function readPackedColumn(input: WireInput, kind: NumberKind, count: number, width: number): NumberColumn {
  const start = input.at;
  const base = readExact(input, "the base of a packed column");
  const packed = readPacked(input, count, width);
  const values = kind.make(count);
  const [min, max] = exactBounds(kind);
  for (let i = 0; i < count; i++) {
    const value = base + packed[i]!;
    if (value < min || value > max) input.fail(`value ${value} does not fit ${kind.name}`, start);
    values[i] = value;
  }
  return values;
}

function readDelta(input: WireInput, kind: NumberKind, count: number, width: number): NumberColumn {
  const start = input.at;
  let value = readExact(input, "the first value of a delta column");
  const step = readExact(input, "the step of a delta column");
  const packed = readPacked(input, count - 1, width);
  const values = kind.make(count);
  const [min, max] = exactBounds(kind);
  for (let i = 0; i < count; i++) {
    if (i > 0) value += step + packed[i - 1]!;
    if (value < min || value > max) input.fail(`value ${value} does not fit ${kind.name}`, start);
    values[i] = value;
  }
  return values;
}

/** Reads a zigzag that doubles represent exactly. */
function readExact(input: WireInput, what: string): number {
  const start = input.at;
  const value = input.zigzag(what);
  if (typeof value === "bigint" || Math.abs(value) > EXACT_MAX)
    input.fail(`${what} is ${value}, beyond 2^52`, start);
  return value;
}

function exactBounds(kind: NumberKind): readonly [number, number] {
  if (kind.width < 8) return [Number(kind.min), Number(kind.max)];
  return [kind.min === 0 ? 0 : -EXACT_MAX, EXACT_MAX];
}

/** `lengths(n)` of section 4: varints for up to three, else a column of u32. */
export function readLengths(input: WireInput, count: number): ArrayLike<number> {
  if (count > 3) return readNumberColumn(input, U32, count) as Uint32Array;
  const lengths: number[] = [];
  for (let i = 0; i < count; i++) lengths.push(input.count("a length"));
  return lengths;
}
