/**
 * Checks the arguments of a channel's verbs. A wrong argument is a misuse, which the call reports.
 */
import { kindOf, NowcastError } from "../errors/nowcast-error.js";
import type { UInt64 } from "../queue/uint64.js";

const KEY_MAX = 2n ** 64n - 1n;
/** The maximum delay of `setTimeout`, about 24 days. With a longer delay, `setTimeout` does not wait at all. */
const DURATION_MS_MAX = 2 ** 31 - 1;

/**
 * Checks that a value is bytes. Otherwise a view of another type would be converted element by element, and a text or
 * an object would become an empty array.
 */
export function checkValue(value: unknown, verb: "state" | "event" | "command" | "reply"): Uint8Array {
  // The check compares the name and not the class, so that it accepts arrays of another realm (a frame, a test
  // environment).
  if (ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === "[object Uint8Array]") {
    return value as Uint8Array;
  }
  throw new NowcastError("misuse", `${verb} takes a Uint8Array, not ${kindOf(value)}`, {
    cure: cureFor(value),
  });
}

function cureFor(value: unknown): string {
  if (typeof value === "string") return "encode text by new TextEncoder().encode(text)";
  if (ArrayBuffer.isView(value)) {
    return "view its bytes by new Uint8Array(value.buffer, value.byteOffset, value.byteLength)";
  }
  if (value instanceof ArrayBuffer) return "view its bytes by new Uint8Array(value)";
  return "encode it by a codec, or by new TextEncoder().encode(JSON.stringify(value))";
}

/** Checks the key of a state: 1 to 2^64 − 1. */
export function checkKey(key: unknown): UInt64 {
  const isKey =
    typeof key === "bigint" ? key > 0n && key <= KEY_MAX : Number.isSafeInteger(key) && (key as number) > 0;
  if (isKey) return key as UInt64;
  const what = typeof key === "number" || typeof key === "bigint" ? String(key) : kindOf(key);
  throw new NowcastError(
    "misuse",
    `a state's key is a whole number from 1 to 2^53 - 1, or a bigint up to 2^64 - 1, not ${what}`,
  );
}

/** Checks the number of a lane. Whether the peer has this lane is checked when something is put. */
export function checkLane(lane: unknown): number {
  if (Number.isInteger(lane) && (lane as number) >= 0) return lane as number;
  throw new NowcastError("misuse", `a lane is a whole number from 0 on, not ${String(lane)}`);
}

/** Checks a time span in milliseconds. */
export function checkDuration(durationMs: unknown, name: string): number {
  if (typeof durationMs === "number" && durationMs >= 0 && durationMs <= DURATION_MS_MAX) return durationMs;
  const what = typeof durationMs === "number" ? String(durationMs) : kindOf(durationMs);
  throw new NowcastError("misuse", `${name} is 0 to ${DURATION_MS_MAX} milliseconds, not ${what}`);
}

/** Checks that a message is a received command. */
export function checkCommand(command: unknown): { readonly lane: number; readonly id: number } {
  const { type, lane, id } = (command ?? {}) as Record<string, unknown>;
  if (type === "command" && Number.isInteger(lane) && Number.isInteger(id)) {
    return { lane: lane as number, id: id as number };
  }
  throw new NowcastError(
    "misuse",
    'reply answers a message of the type "command", which is its first argument',
  );
}
