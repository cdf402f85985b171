import type { MsgpackValue } from "../codec/msgpack-value.js";
import { encodeMsgpack } from "../codec/msgpack-writer.js";
import { kindOf, NowcastError } from "../errors/nowcast-error.js";
import type { WorldRecord } from "./world.js";

/** Snapshots a second that a server sends to a client (`spec/PLAIN.md`, section 1). */
const NETWORK_HZ_MIN = 5;
const NETWORK_HZ_MAX = 60;

/**
 * Maximum number of characters in a sent name or chat line. Servers shorten names to 24 characters and chat lines to
 * 300, and close the connection of a client that sends kilobytes. So the server would drop further characters, unless
 * most of the text is white space and control characters.
 */
export const NAME_CHARACTERS_MAX = 100;
export const LINE_CHARACTERS_MAX = 600;

/** Maximum bytes of a client's message, and maximum bytes of an action's name (`spec/WORLD.md`, section 6). */
const MESSAGE_BYTES_MAX = 4_096;
const ACTION_BYTES_MAX = 64;

/** Clamps a number to the bounds; throws a misuse if it is not a finite number. */
export function bounded(value: number, min: number, max: number, name: string): number {
  if (!Number.isFinite(value)) {
    throw new NowcastError("misuse", `${name} is ${described(value)}, not a finite number`);
  }
  return Math.min(max, Math.max(min, value));
}

/** Returns the nearest rate that a server accepts: a whole number of snapshots a second. */
export function boundedHz(hz: number, name: string): number {
  return Math.round(bounded(hz, NETWORK_HZ_MIN, NETWORK_HZ_MAX, name));
}

/**
 * Returns the text cut to this many characters. A lone surrogate, which UTF-8 cannot represent,
 * becomes U+FFFD.
 */
export function boundedText(text: string, charactersMax: number, name: string): string {
  if (typeof text !== "string") throw new NowcastError("misuse", `${name} is ${kindOf(text)}, not a string`);
  let cut = "";
  let characters = 0;
  for (const character of text) {
    if (characters++ === charactersMax) break;
    const unit = character.length === 1 ? character.charCodeAt(0) : 0;
    cut += unit >= 0xd800 && unit < 0xe000 ? "\ufffd" : character;
  }
  return cut;
}

/** Returns the arguments. Throws a misuse if no server would accept them or the action's name. */
export function boundedArguments(args: WorldRecord, action: string): WorldRecord {
  if (typeof action !== "string") {
    throw new NowcastError("misuse", `action is ${kindOf(action)}, not a string`);
  }
  if (encodeMsgpack(boundedText(action, action.length, "action")).length > ACTION_BYTES_MAX) {
    throw new NowcastError("misuse", `the name of an action has more than ${ACTION_BYTES_MAX} bytes`);
  }
  if (typeof args !== "object" || args === null || Array.isArray(args) || args instanceof Map) {
    throw new NowcastError("misuse", `the arguments of "${action}" are ${kindOf(args)}, not an object`);
  }
  checkActionBytes(action, encodeMsgpack(args as MsgpackValue).length);
  return args;
}

/**
 * Throws a misuse for an action that exceeds the maximum size, because a server would close the
 * connection.
 */
export function checkActionBytes(action: string, bytes: number): void {
  if (bytes <= MESSAGE_BYTES_MAX) return;
  const cause = `"${action}" with its arguments has ${bytes} bytes, more than ${MESSAGE_BYTES_MAX}`;
  throw new NowcastError("misuse", cause);
}

function described(value: unknown): string {
  return typeof value === "number" ? String(value) : kindOf(value);
}
