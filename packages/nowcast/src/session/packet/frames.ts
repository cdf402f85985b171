/** The frames of data packets (`spec/SESSION.md`, section 7). */
import { addUInt64, type UInt64 } from "../../queue/uint64.js";
import { PART_BYTES } from "../limits.js";
import { MalformedPacket, type PacketReader } from "./reader.js";

export const EventKind = { event: 0, command: 1, reply: 2, barrier: 3, expired: 4 } as const;
export type EventKind = (typeof EventKind)[keyof typeof EventKind];

export interface StateRecord {
  readonly key: UInt64;
  readonly stamp: UInt64;
  readonly ageMs: UInt64;
  readonly value: Uint8Array;
}

export interface StatesFrame {
  readonly type: "states";
  readonly lane: number;
  readonly interval: UInt64;
  readonly stamp: UInt64;
  readonly records: readonly StateRecord[];
  /** Whether a zero byte ends the frame, which is required before another frame. */
  readonly ended: boolean;
}

export interface EventHead {
  readonly lane: number;
  readonly number: UInt64;
  readonly kind: EventKind;
  readonly before: UInt64;
  /** The number of the command that a reply answers. */
  readonly answers?: UInt64;
}

export interface EventFrame extends EventHead {
  readonly type: "event";
  readonly payload: Uint8Array;
}

export interface PartTail {
  readonly total: number;
  readonly index: number;
  readonly part: Uint8Array;
}

export interface EventPartFrame extends EventHead, PartTail {
  readonly type: "event_part";
}

export interface StatePartFrame extends PartTail {
  readonly type: "state_part";
  readonly lane: number;
  readonly interval: UInt64;
  readonly stamp: UInt64;
  readonly key: UInt64;
  readonly ageMs: UInt64;
}

export type Frame =
  | { readonly type: "padding" }
  | { readonly type: "ping" }
  | { readonly type: "proof"; readonly proof: Uint8Array }
  | { readonly type: "close"; readonly code: number; readonly reason: string }
  | StatesFrame
  | EventFrame
  | EventPartFrame
  | StatePartFrame
  | { readonly type: "window"; readonly lane: number; readonly consumed: UInt64 }
  | { readonly type: "replication"; readonly lane: number; readonly payload: Uint8Array };

/** The first byte of a frame. From `states` on, its low four bits are the lane. */
export const FrameType = {
  padding: 0x00,
  ping: 0x01,
  proof: 0x02,
  close: 0x03,
  states: 0x10,
  event: 0x20,
  eventPart: 0x30,
  statePart: 0x40,
  window: 0x50,
  replication: 0x60,
} as const;

const STAMP_END = 2n ** 62n;
const CLOSE_CODE_MAX = 2 ** 32 - 1;
export const CLOSE_REASON_BYTES_MAX = 128;

export function readFrame(reader: PacketReader): Frame {
  const type = reader.u8("frame type");
  const lane = type & 0x0f;
  switch (type) {
    case FrameType.padding:
      return { type: "padding" };
    case FrameType.ping:
      return { type: "ping" };
    case FrameType.proof:
      return { type: "proof", proof: reader.fixed(8, "proof") };
    case FrameType.close: {
      const code = reader.small("code", CLOSE_CODE_MAX);
      return { type: "close", code, reason: reader.text("reason", CLOSE_REASON_BYTES_MAX) };
    }
  }
  switch (type & 0xf0) {
    case FrameType.states:
      return readStates(reader, lane);
    case FrameType.event: {
      const head = readEventHead(reader, lane);
      const payload = reader.bytes("payload");
      if (head.kind >= EventKind.barrier && payload.length > 0) throw new MalformedPacket("payload");
      return { type: "event", ...head, payload };
    }
    case FrameType.eventPart: {
      const head = readEventHead(reader, lane);
      if (head.kind >= EventKind.barrier) throw new MalformedPacket("kind");
      return { type: "event_part", ...head, ...readPart(reader) };
    }
    case FrameType.statePart: {
      const interval = reader.varint("interval");
      const stamp = readStamp(reader.varint("stamp"), "stamp");
      const key = reader.varint("key");
      if (key === 0) throw new MalformedPacket("key");
      const ageMs = reader.varint("age");
      return { type: "state_part", lane, interval, stamp, key, ageMs, ...readPart(reader) };
    }
    case FrameType.window:
      return { type: "window", lane, consumed: reader.varint("consumed") };
    case FrameType.replication:
      return { type: "replication", lane, payload: reader.bytes("payload") };
    default:
      throw new MalformedPacket("frame type");
  }
}

function readStates(reader: PacketReader, lane: number): StatesFrame {
  const interval = reader.varint("interval");
  const stamp = reader.varint("stamp");
  const records: StateRecord[] = [];
  let ended = false;
  while (reader.left > 0 && !ended) {
    const key = reader.varint("key");
    if (key === 0) ended = true;
    else {
      const offset = reader.varint("offset");
      const recordStamp = readStamp(
        typeof offset === "bigint" ? STAMP_END : addUInt64(stamp, offset),
        "offset",
      );
      const ageMs = reader.varint("age");
      records.push({ key, stamp: recordStamp, ageMs, value: reader.bytes("value") });
    }
  }
  if (records.length === 0) throw new MalformedPacket("records");
  return { type: "states", lane, interval, stamp, records, ended };
}

function readStamp(stamp: UInt64, field: string): UInt64 {
  if (stamp === 0 || stamp >= STAMP_END) throw new MalformedPacket(field);
  return stamp;
}

function readEventHead(reader: PacketReader, lane: number): EventHead {
  const number = reader.varint("number");
  const kind = reader.u8("kind");
  if (kind > EventKind.expired) throw new MalformedPacket("kind");
  const before = reader.varint("before");
  const head = { lane, number, kind: kind as EventKind, before };
  return kind === EventKind.reply ? { ...head, answers: reader.varint("answers") } : head;
}

function readPart(reader: PacketReader): PartTail {
  const total = reader.small("total", Number.MAX_SAFE_INTEGER, PART_BYTES + 1);
  const index = reader.small("index", Math.ceil(total / PART_BYTES) - 1);
  const length = Math.min(PART_BYTES, total - index * PART_BYTES);
  return { total, index, part: reader.fixed(length, "part") };
}
