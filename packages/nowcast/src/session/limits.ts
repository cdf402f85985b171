/** Limits of a peer (`spec/SESSION.md`, section 9). */
import { NowcastError } from "../errors/nowcast-error.js";
import { MalformedPacket, type PacketReader } from "./packet/reader.js";
import type { PacketWriter } from "./packet/writer.js";

export interface Limits {
  readonly lanesMax: number;
  /** Maximum cost of a lane's unconsumed messages; a message costs its payload and {@link MESSAGE_COST}. */
  readonly windowBytes: number;
  /** Maximum payload of one event or value, in bytes. */
  readonly messageBytesMax: number;
  readonly packetBytesMax: number;
  readonly idleTimeoutMs: number;
  readonly resumeTimeoutMs: number;
}

export const DEFAULT_LIMITS: Limits = {
  lanesMax: 8,
  windowBytes: 1_048_576,
  messageBytesMax: 262_144,
  packetBytesMax: 1_200,
  idleTimeoutMs: 10_000,
  resumeTimeoutMs: 60_000,
};

export const LANES_MAX = 16;
export const MESSAGE_COST = 64;
export const PART_BYTES = 1_024;
export const PACKET_BYTES_MIN = 1_200;
const WINDOW_BYTES_MIN = 16_384;
const MESSAGE_BYTES_MIN = 1_024;
const IDLE_TIMEOUT_MS_MIN = 100;

/** Reads limits, and refuses those outside the bounds of the specification. */
export function readLimits(reader: PacketReader): Limits {
  const most = Number.MAX_SAFE_INTEGER;
  const limits = {
    lanesMax: reader.small("lanes_max", LANES_MAX, 1),
    windowBytes: reader.small("window_bytes", most, WINDOW_BYTES_MIN),
    messageBytesMax: reader.small("message_bytes_max", most, MESSAGE_BYTES_MIN),
    packetBytesMax: reader.small("packet_bytes_max", most, PACKET_BYTES_MIN),
    idleTimeoutMs: reader.small("idle_timeout_ms", most, IDLE_TIMEOUT_MS_MIN),
    resumeTimeoutMs: reader.small("resume_timeout_ms", most),
  };
  if (limits.messageBytesMax > limits.windowBytes / 4) throw new MalformedPacket("message_bytes_max");
  return limits;
}

export function writeLimits(writer: PacketWriter, limits: Limits): void {
  writer.varint(limits.lanesMax);
  writer.varint(limits.windowBytes);
  writer.varint(limits.messageBytesMax);
  writer.varint(limits.packetBytesMax);
  writer.varint(limits.idleTimeoutMs);
  writer.varint(limits.resumeTimeoutMs);
}

/**
 * Refuses limits that the specification does not allow. This is the program's fault, not a peer's.
 */
export function checkLimits(limits: Limits): void {
  const { lanesMax, windowBytes, messageBytesMax, packetBytesMax, idleTimeoutMs, resumeTimeoutMs } = limits;
  const most = Number.MAX_SAFE_INTEGER;
  checkLimit("lanesMax", lanesMax, 1, LANES_MAX);
  checkLimit("windowBytes", windowBytes, WINDOW_BYTES_MIN, most);
  checkLimit("messageBytesMax", messageBytesMax, MESSAGE_BYTES_MIN, windowBytes / 4);
  checkLimit("packetBytesMax", packetBytesMax, PACKET_BYTES_MIN, most);
  checkLimit("idleTimeoutMs", idleTimeoutMs, IDLE_TIMEOUT_MS_MIN, most);
  checkLimit("resumeTimeoutMs", resumeTimeoutMs, 0, most);
}

function checkLimit(name: keyof Limits, value: number, min: number, max: number): void {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return;
  const bounds = `${min} to ${Math.floor(max)} (spec/SESSION.md, section 9)`;
  throw new NowcastError(
    "misuse",
    `the session's limit ${name} is ${value}, not a whole number from ${bounds}`,
  );
}

/**
 * Refuses a lane that the peer does not have. This is a fault of the program, which the call
 * reports.
 */
export function checkLane(lane: number, { lanesMax }: Limits): void {
  if (Number.isInteger(lane) && lane >= 0 && lane < lanesMax) return;
  throw new NowcastError("misuse", `the peer has no lane ${lane}: it has 0 to ${lanesMax - 1}`);
}
