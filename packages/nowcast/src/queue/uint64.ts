import { NowcastError } from "../errors/nowcast-error.js";

/**
 * Unsigned 64-bit numbers: a `number` where that is exact, a `bigint` above 2^53 − 1. Each value
 * has only one form, so these numbers can be compared with `===` and used as keys of a `Map`.
 */
export type UInt64 = number | bigint;

const UINT64_MAX = 2n ** 64n - 1n;

/** Converts a number between 0 and 2^64 − 1 to its only form. */
export function toUInt64(value: number | bigint): UInt64 {
  if (
    typeof value === "number" ? !Number.isSafeInteger(value) || value < 0 : value < 0n || value > UINT64_MAX
  ) {
    throw new NowcastError("misuse", `${value} is not between 0 and 2^64 - 1`);
  }
  return typeof value === "bigint" && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
}

export function addUInt64(a: UInt64, b: UInt64): UInt64 {
  if (typeof a === "number" && typeof b === "number" && a + b <= Number.MAX_SAFE_INTEGER) return a + b;
  // The summands are stamps below 2^62. If a sum wraps, only a comparison fails.
  return toUInt64(BigInt.asUintN(64, BigInt(a) + BigInt(b)));
}

export function subtractUInt64(a: UInt64, b: UInt64): UInt64 {
  if (typeof a === "number" && typeof b === "number" && a >= b) return a - b;
  return toUInt64(BigInt.asUintN(64, BigInt(a) - BigInt(b)));
}
