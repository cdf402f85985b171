/** The frames of data packets (`spec/SESSION.md`, section 7). */
import { addUInt64, subtractUInt64, type UInt64 } from "../../queue/uint64.js";
import { PART_BYTES } from "../limits.js";
import { MalformedPacket, type PacketReader } from "./reader.js";
import type { PacketWriter } from "./writer.js";

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

interface EventHead {
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

interface PartTail {
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

const PADDING = 0x00;
const PING = 0x01;
const PROOF = 0x02;
const CLOSE = 0x03;
const STATES = 0x10;
const EVENT = 0x20;
const EVENT_PART = 0x30;
const STATE_PART = 0x40;
const WINDOW = 0x50;
const REPLICATION = 0x60;

const STAMP_END = 2n ** 62n;
const CLOSE_CODE_MAX = 2 ** 32 - 1;
export const CLOSE_REASON_BYTES_MAX = 128;

export function readFrame(reader: PacketReader): Frame {
  const type = reader.u8("frame type");
  const lane = type & 0x0f;
  switch (type) {
    case PADDING:
      return { type: "padding" };
    case PING:
      return { type: "ping" };
    case PROOF:
      return { type: "proof", proof: reader.fixed(8, "proof") };
    case CLOSE: {
      const code = reader.small("code", CLOSE_CODE_MAX);
      return { type: "close", code, reason: reader.text("reason", CLOSE_REASON_BYTES_MAX) };
    }
  }
  switch (type & 0xf0) {
    case STATES:
      return readStates(reader, lane);
    case EVENT: {
      const head = readEventHead(reader, lane);
      const payload = reader.bytes("payload");
      if (head.kind >= EventKind.barrier && payload.length > 0) throw new MalformedPacket("payload");
      return { type: "event", ...head, payload };
    }
    case EVENT_PART: {
      const head = readEventHead(reader, lane);
      if (head.kind >= EventKind.barrier) throw new MalformedPacket("kind");
      return { type: "event_part", ...head, ...readPart(reader) };
    }
    case STATE_PART: {
      const interval = reader.varint("interval");
      const stamp = readStamp(reader.varint("stamp"), "stamp");
      const key = reader.varint("key");
      if (key === 0) throw new MalformedPacket("key");
      const ageMs = reader.varint("age");
      return { type: "state_part", lane, interval, stamp, key, ageMs, ...readPart(reader) };
    }
    case WINDOW:
      return { type: "window", lane, consumed: reader.varint("consumed") };
    case REPLICATION:
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

export function writeFrame(writer: PacketWriter, frame: Frame): void {
  switch (frame.type) {
    case "padding":
      return writer.u8(PADDING);
    case "ping":
      return writer.u8(PING);
    case "proof":
      writer.u8(PROOF);
      return writer.fixed(frame.proof);
    case "close":
      writer.u8(CLOSE);
      writer.varint(frame.code);
      return writer.text(frame.reason, CLOSE_REASON_BYTES_MAX);
    case "states":
      writeStatesHead(writer, frame.lane, frame.interval, frame.stamp);
      for (const record of frame.records) writeStateRecord(writer, frame.stamp, record);
      if (frame.ended) writeStatesEnd(writer);
      return;
    case "event":
      writer.u8(EVENT | frame.lane);
      writeEventHead(writer, frame);
      return writer.bytes(frame.payload);
    case "event_part":
      writer.u8(EVENT_PART | frame.lane);
      writeEventHead(writer, frame);
      return writePart(writer, frame);
    case "state_part":
      writer.u8(STATE_PART | frame.lane);
      writer.varint(frame.interval);
      writer.varint(frame.stamp);
      writer.varint(frame.key);
      writer.varint(frame.ageMs);
      return writePart(writer, frame);
    case "window":
      writer.u8(WINDOW | frame.lane);
      return writer.varint(frame.consumed);
    case "replication":
      writer.u8(REPLICATION | frame.lane);
      return writer.bytes(frame.payload);
  }
}

/** A STATES frame may be written record by record, while values are bound. */
export function writeStatesHead(writer: PacketWriter, lane: number, interval: UInt64, stamp: UInt64): void {
  writer.u8(STATES | lane);
  writer.varint(interval);
  writer.varint(stamp);
}

export function writeStateRecord(writer: PacketWriter, frameStamp: UInt64, record: StateRecord): void {
  writer.varint(record.key);
  writer.varint(subtractUInt64(record.stamp, frameStamp));
  writer.varint(record.ageMs);
  writer.bytes(record.value);
}

export function writeStatesEnd(writer: PacketWriter): void {
  writer.u8(0);
}

function writeEventHead(writer: PacketWriter, head: EventHead): void {
  writer.varint(head.number);
  writer.u8(head.kind);
  writer.varint(head.before);
  if (head.kind === EventKind.reply) writer.varint(head.answers ?? 0);
}

function writePart(writer: PacketWriter, { total, index, part }: PartTail): void {
  writer.varint(total);
  writer.varint(index);
  writer.fixed(part);
}
