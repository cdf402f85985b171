/**
 * Signals that two pages exchange through the world until they are connected directly. Any part may be
 * forged.
 */
import { isFields } from "nowcast/internal";

/** Maximum characters of JSON in an action. */
export const SIGNAL_CHARACTERS_MAX = 3_600;
const NAME_CHARACTERS_MAX = 32;

export type Signal =
  /** Announces a page with voice; `reply` answers another announcement. */
  | { readonly type: "here"; readonly reply: boolean }
  /** `call` identifies one attempt to connect. */
  | { readonly type: "offer" | "answer"; readonly call: string; readonly sdp: string }
  | { readonly type: "candidate"; readonly call: string; readonly candidate: string; readonly mid: string }
  | { readonly type: "bye" };

/** A signal as the text of an action; undefined if it is too long. */
export function writeSignal(signal: Signal): string | undefined {
  const text = JSON.stringify(signal);
  return new TextEncoder().encode(text).length <= SIGNAL_CHARACTERS_MAX ? text : undefined;
}

/** A signal of the event `voice`, and its sender; `undefined` if it is invalid. */
export function readSignal(payload: unknown): { readonly from: number; readonly signal: Signal } | undefined {
  if (!isFields(payload)) return undefined;
  const { from, data } = payload;
  if (typeof from !== "number" || typeof data !== "string" || data.length > SIGNAL_CHARACTERS_MAX)
    return undefined;
  const signal = parse(data);
  return signal && { from, signal };
}

function parse(data: string): Signal | undefined {
  let said: unknown;
  try {
    said = JSON.parse(data);
  } catch {
    return undefined;
  }
  if (!isFields(said)) return undefined;
  const { type, reply, call, sdp, candidate, mid } = said;
  switch (type) {
    case "here":
      return { type, reply: reply === true };
    case "offer":
    case "answer":
      return isName(call) && typeof sdp === "string" ? { type, call, sdp } : undefined;
    case "candidate":
      return isName(call) && typeof candidate === "string" && isName(mid)
        ? { type, call, candidate, mid }
        : undefined;
    case "bye":
      return { type };
    default:
      return undefined;
  }
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value.length <= NAME_CHARACTERS_MAX;
}
