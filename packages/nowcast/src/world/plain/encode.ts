import type { MsgpackValue } from "../../codec/msgpack-value.js";
import { encodeMsgpack } from "../../codec/msgpack-writer.js";
import { kindOf, NowcastError } from "../../errors/nowcast-error.js";
import type { Encoding, Input } from "../world.js";
import type { ClientMessage } from "./messages.js";

const INPUT_TYPE = 2;
const INPUT_BYTES = 7;
const RUN_BIT = 1;
const JUMP_BIT = 2;

/**
 * Returns the content of one WebSocket frame: a string for a text frame, bytes for a binary frame.
 * Throws a misuse for an action's arguments that JSON cannot represent.
 */
export function encodeClientMessage(
  message: ClientMessage,
  encoding: Encoding,
): string | Uint8Array<ArrayBuffer> {
  if (encoding === "msgpack") return encodeMsgpack({ ...message } as MsgpackValue);
  if (encoding !== "json" && message.type === "input") return packInput(message);
  return JSON.stringify(message, refuseWhatJsonLoses);
}

function refuseWhatJsonLoses(key: string, value: unknown): unknown {
  const isLost =
    typeof value === "bigint" ||
    (typeof value === "number" && !Number.isFinite(value)) ||
    value instanceof Map ||
    ArrayBuffer.isView(value);
  if (!isLost) return value;
  throw new NowcastError("misuse", `"${key}" is ${kindOf(value)}, which JSON cannot say`, {
    cure: "use the encoding msgpack, or a session",
  });
}

/** `spec/PLAIN.md`, section 4: seven bytes. */
export function packInput(input: Input): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(INPUT_BYTES));
  view.setUint16(0, INPUT_TYPE, true);
  view.setInt8(2, round(input.forward * 127));
  view.setInt8(3, round(input.right * 127));
  view.setUint16(4, packAngle16(input.yaw), true);
  view.setUint8(6, (input.run ? RUN_BIT : 0) | (input.jump ? JUMP_BIT : 0));
  return new Uint8Array(view.buffer);
}

/** round(angle / 2π · 2¹⁶) mod 2¹⁶, also for negative angles. */
export function packAngle16(angle: number): number {
  const steps = round((angle / (Math.PI * 2)) * 65_536) % 65_536;
  return steps < 0 ? steps + 65_536 : steps;
}

/**
 * Rounds halves away from zero, so that left and right are symmetric. `Math.round` rounds halves
 * up.
 */
function round(value: number): number {
  return Math.sign(value) * Math.round(Math.abs(value));
}
