/** What a peer accepts (`spec/SESSION.md`, section 9). */
import { MalformedPacket, type PacketReader } from "./packet/reader.js";
import type { PacketWriter } from "./packet/writer.js";

export interface Limits {
  readonly lanesMax: number;
  /** What all unconsumed messages of a lane may cost; a message costs its payload and {@link MESSAGE_COST}. */
  readonly windowBytes: number;
  /** Payload of one event or value. */
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

/** Reads limits, and refuses those outside the bounds of the specification. */
export function readLimits(reader: PacketReader): Limits {
  const most = Number.MAX_SAFE_INTEGER;
  const limits = {
    lanesMax: reader.small("lanes_max", LANES_MAX, 1),
    windowBytes: reader.small("window_bytes", most, 16_384),
    messageBytesMax: reader.small("message_bytes_max", most, 1_024),
    packetBytesMax: reader.small("packet_bytes_max", most, PACKET_BYTES_MIN),
    idleTimeoutMs: reader.small("idle_timeout_ms", most, 100),
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

/** Refuses limits that the specification does not allow: a mistake of the program, not of a peer. */
export function checkLimits(limits: Limits): void {
  const { lanesMax, windowBytes, messageBytesMax, packetBytesMax, idleTimeoutMs, resumeTimeoutMs } = limits;
  const isAllowed =
    lanesMax >= 1 &&
    lanesMax <= LANES_MAX &&
    windowBytes >= 16_384 &&
    messageBytesMax >= 1_024 &&
    messageBytesMax <= windowBytes / 4 &&
    packetBytesMax >= PACKET_BYTES_MIN &&
    idleTimeoutMs >= 100 &&
    resumeTimeoutMs >= 0 &&
    Object.values(limits).every(Number.isSafeInteger);
  if (!isAllowed) throw new RangeError("session limits are outside the bounds of spec/SESSION.md, section 9");
}
