import { NowcastError } from "../errors/nowcast-error.js";

/**
 * Unsigned 64-bit numbers: a `number` where that is exact, a `bigint` above 2^53 − 1. One value has one form, so counts
 * may be compared with `===` and used as keys of a `Map`.
 */
export type Count = number | bigint;

const COUNT_MAX = 2n ** 64n - 1n;

/** The one form of a number between 0 and 2^64 − 1. */
export function toCount(value: number | bigint): Count {
  if (
    typeof value === "number" ? !Number.isSafeInteger(value) || value < 0 : value < 0n || value > COUNT_MAX
  ) {
    throw new NowcastError("misuse", `${value} is not between 0 and 2^64 - 1`);
  }
  return typeof value === "bigint" && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
}

export function addCounts(a: Count, b: Count): Count {
  if (typeof a === "number" && typeof b === "number" && a + b <= Number.MAX_SAFE_INTEGER) return a + b;
  // Sums are of stamps below 2^62, of which an implementation holds few enough; wrapping would only fail a comparison.
  return toCount(BigInt.asUintN(64, BigInt(a) + BigInt(b)));
}

export function subtractCounts(a: Count, b: Count): Count {
  if (typeof a === "number" && typeof b === "number" && a >= b) return a - b;
  return toCount(BigInt.asUintN(64, BigInt(a) - BigInt(b)));
}
