/** Checks of the arguments of a channel's verbs; a wrong argument is a misuse that is reported at the call. */
import { kindOf, NowcastError } from "../errors/nowcast-error.js";
import type { UInt64 } from "../queue/uint64.js";

const KEY_MAX = 2n ** 64n - 1n;
/** The maximum of `setTimeout`, some 24 days; it does not wait at all for longer times. */
const DURATION_MS_MAX = 2 ** 31 - 1;

/** Bytes of the caller. Any other view would be converted element by element, and text or an object to nothing at all. */
export function checkValue(value: unknown, verb: "state" | "event" | "command" | "reply"): Uint8Array {
  // Compares the name and not the class, so that arrays of another realm (a frame, a test's environment) are accepted.
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

/** The key of a state: 1 to 2^64 − 1. */
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

/** The number of a lane; how many the peer has is checked when something is put. */
export function checkLane(lane: unknown): number {
  if (Number.isInteger(lane) && (lane as number) >= 0) return lane as number;
  throw new NowcastError("misuse", `a lane is a whole number from 0 on, not ${String(lane)}`);
}

/** A time span in milliseconds. */
export function checkDuration(durationMs: unknown, name: string): number {
  if (typeof durationMs === "number" && durationMs >= 0 && durationMs <= DURATION_MS_MAX) return durationMs;
  const what = typeof durationMs === "number" ? String(durationMs) : kindOf(durationMs);
  throw new NowcastError("misuse", `${name} is 0 to ${DURATION_MS_MAX} milliseconds, not ${what}`);
}

/** A command that came in. */
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
