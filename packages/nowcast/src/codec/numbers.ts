import type { WireInput } from "./input.js";
import { narrow } from "./input.js";
import type { IntegerTag } from "./wire-schema.js";

/** A column of numbers. Columns of 64-bit numbers may hold bigints. */
export type NumberColumn =
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | Int8Array
  | Int16Array
  | Int32Array
  | Float32Array
  | Float64Array
  | (number | bigint)[];

/** The layout of one number type in memory and on the wire. */
export interface NumberKind {
  readonly name: string;
  /** Bytes on the wire. */
  readonly width: 1 | 2 | 3 | 4 | 8;
  readonly isFloat: boolean;
  readonly min: number | bigint;
  readonly max: number | bigint;
  /** A column of `count` zeros. */
  make(count: number): NumberColumn;
  read(view: DataView, at: number): number | bigint;
  write(view: DataView, at: number, value: number | bigint): void;
}

function small(
  name: string,
  width: 1 | 2 | 4,
  [min, max]: readonly [number, number],
  make: (count: number) => NumberColumn,
  read: NumberKind["read"],
  write: (view: DataView, at: number, value: number) => void,
): NumberKind {
  return {
    name,
    width,
    isFloat: false,
    min,
    max,
    make,
    read,
    write: (view, at, value) => write(view, at, Number(value)),
  };
}

const TWO_32 = 2 ** 32;

export const U8 = small(
  "u8",
  1,
  [0, 0xff],
  (count) => new Uint8Array(count),
  (view, at) => view.getUint8(at),
  (view, at, value) => view.setUint8(at, value),
);
export const U16 = small(
  "u16",
  2,
  [0, 0xffff],
  (count) => new Uint16Array(count),
  (view, at) => view.getUint16(at, true),
  (view, at, value) => view.setUint16(at, value, true),
);
export const U32 = small(
  "u32",
  4,
  [0, 0xffff_ffff],
  (count) => new Uint32Array(count),
  (view, at) => view.getUint32(at, true),
  (view, at, value) => view.setUint32(at, value, true),
);
export const I8 = small(
  "i8",
  1,
  [-0x80, 0x7f],
  (count) => new Int8Array(count),
  (view, at) => view.getInt8(at),
  (view, at, value) => view.setInt8(at, value),
);
export const I16 = small(
  "i16",
  2,
  [-0x8000, 0x7fff],
  (count) => new Int16Array(count),
  (view, at) => view.getInt16(at, true),
  (view, at, value) => view.setInt16(at, value, true),
);
export const I32 = small(
  "i32",
  4,
  [-0x8000_0000, 0x7fff_ffff],
  (count) => new Int32Array(count),
  (view, at) => view.getInt32(at, true),
  (view, at, value) => view.setInt32(at, value, true),
);
/** Ranges of 17 to 24 bits. */
export const U24: NumberKind = {
  name: "u24",
  width: 3,
  isFloat: false,
  min: 0,
  max: 0xff_ffff,
  make: (count) => new Uint32Array(count),
  read: (view, at) => view.getUint16(at, true) + view.getUint8(at + 2) * 0x1_0000,
  write: (view, at, value) => {
    view.setUint16(at, Number(value) & 0xffff, true);
    view.setUint8(at + 2, Number(value) >>> 16);
  },
};
export const U64: NumberKind = {
  name: "u64",
  width: 8,
  isFloat: false,
  min: 0,
  max: 2n ** 64n - 1n,
  make: (count) => new Array<number | bigint>(count).fill(0),
  read: (view, at) => {
    const high = view.getUint32(at + 4, true);
    if (high < 0x20_0000) return high * TWO_32 + view.getUint32(at, true);
    return view.getBigUint64(at, true);
  },
  write: (view, at, value) => {
    if (typeof value === "bigint") view.setBigUint64(at, value, true);
    else writeSafe(view, at, value);
  },
};
export const I64: NumberKind = {
  name: "i64",
  width: 8,
  isFloat: false,
  min: -(2n ** 63n),
  max: 2n ** 63n - 1n,
  make: (count) => new Array<number | bigint>(count).fill(0),
  read: (view, at) => {
    const high = view.getInt32(at + 4, true);
    if (high < 0x20_0000 && high >= -0x20_0000) {
      const value = high * TWO_32 + view.getUint32(at, true);
      if (value >= -Number.MAX_SAFE_INTEGER) return value;
    }
    return narrow(view.getBigInt64(at, true));
  },
  write: (view, at, value) => {
    if (typeof value === "bigint") view.setBigInt64(at, value, true);
    else writeSafe(view, at, value);
  },
};
export const F32: NumberKind = {
  name: "f32",
  width: 4,
  isFloat: true,
  min: Number.NEGATIVE_INFINITY,
  max: Number.POSITIVE_INFINITY,
  make: (count) => new Float32Array(count),
  read: (view, at) => view.getFloat32(at, true),
  write: (view, at, value) => view.setFloat32(at, Number(value), true),
};
export const F64: NumberKind = {
  name: "f64",
  width: 8,
  isFloat: true,
  min: Number.NEGATIVE_INFINITY,
  max: Number.POSITIVE_INFINITY,
  make: (count) => new Float64Array(count),
  read: (view, at) => view.getFloat64(at, true),
  write: (view, at, value) => view.setFloat64(at, Number(value), true),
};

/** Writes a safe integer in two's complement. */
function writeSafe(view: DataView, at: number, value: number): void {
  view.setUint32(at, (value % TWO_32) | 0, true);
  view.setInt32(at + 4, Math.floor(value / TWO_32), true);
}

export const KINDS: Readonly<Record<IntegerTag | "f32" | "f64", NumberKind>> = {
  u8: U8,
  u16: U16,
  u32: U32,
  u64: U64,
  i8: I8,
  i16: I16,
  i32: I32,
  i64: I64,
  uvar: U64,
  ivar: I64,
  f32: F32,
  f64: F64,
};

/** The unsigned kind for a quantised number with `width` bytes. */
export function unsignedKind(width: number): NumberKind {
  return width === 1 ? U8 : width === 2 ? U16 : width === 3 ? U24 : U32;
}

/** Bits of a packed number, by width index. */
export const PACKED_BITS = [0, 1, 2, 4, 8, 16, 24, 32, 48] as const;

export function packedBytes(count: number, width: number): number {
  return Math.ceil((count * PACKED_BITS[width]!) / 8);
}

/** The smallest width index that holds `value`. */
export function packedWidth(value: number): number {
  let width = 0;
  while (value >= 2 ** PACKED_BITS[width]!) width++;
  return width;
}

/** `packed(n, w)` of `spec/WIRE.md`, section 5.1. */
export function readPacked(input: WireInput, count: number, width: number): Float64Array | Uint32Array {
  const start = input.at;
  const length = packedBytes(count, width);
  const at = input.advance(length, "packed numbers");
  const { bytes, view } = input;
  const bits = PACKED_BITS[width]!;
  if (bits === 0) return new Uint32Array(count);
  if (bits === 48) {
    const values = new Float64Array(count);
    for (let i = 0, from = at; i < count; i++, from += 6) {
      values[i] = view.getUint32(from, true) + view.getUint16(from + 4, true) * TWO_32;
    }
    return values;
  }
  const values = new Uint32Array(count);
  if (bits < 8) {
    const mask = (1 << bits) - 1;
    for (let i = 0, bit = 0; i < count; i++, bit += bits)
      values[i] = (bytes[at + (bit >> 3)]! >> (bit & 7)) & mask;
    const used = (count * bits) & 7;
    if (used !== 0 && bytes[at + length - 1]! >> used !== 0)
      input.fail("unused bits that are not zero", start);
  } else if (bits === 8) {
    for (let i = 0; i < count; i++) values[i] = bytes[at + i]!;
  } else if (bits === 16) {
    for (let i = 0; i < count; i++) values[i] = view.getUint16(at + i * 2, true);
  } else if (bits === 24) {
    for (let i = 0, from = at; i < count; i++, from += 3) {
      values[i] = view.getUint16(from, true) | (bytes[from + 2]! << 16);
    }
  } else {
    for (let i = 0; i < count; i++) values[i] = view.getUint32(at + i * 4, true);
  }
  return values;
}
