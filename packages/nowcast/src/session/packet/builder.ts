/** The writing half of `frames.ts`, and the packet into which frames are written. */
import { subtractUInt64, type UInt64 } from "../../queue/uint64.js";
import { PART_BYTES } from "../limits.js";
import {
  CLOSE_REASON_BYTES_MAX,
  type EventHead,
  EventKind,
  type Frame,
  FrameType,
  type PartTail,
  type StateRecord,
} from "./frames.js";
import { type PacketWriter, varintLength } from "./writer.js";

/** Maximum size of the header, the acknowledgement and the fields of a frame together. */
const OVERHEAD_BYTES_MAX = 176;

/** Fills a packet with frames, and collects states of one interval in one frame. */
export class PacketBuilder {
  /** Whether the peer must acknowledge the packet. */
  isEliciting = false;
  /** The offsets at which content starts and ends. The first message may exceed the end. */
  #content: { readonly begin: number; readonly end: number } | undefined;
  #states: { readonly lane: number; readonly interval: number; readonly stamp: UInt64 } | undefined;

  constructor(
    readonly writer: PacketWriter,
    readonly bytesMax: number,
  ) {}

  /** Maximum size of a message that is sent whole. Longer messages are sent in parts. */
  get wholeBytesMax(): number {
    return Math.max(PART_BYTES, this.bytesMax - OVERHEAD_BYTES_MAX);
  }

  get room(): number {
    const { length } = this.writer;
    const end = this.#content && length > this.#content.begin ? this.#content.end : this.bytesMax;
    return end - length - (this.#states ? 1 : 0);
  }

  /** The number of bytes that a divisible frame should fill. */
  get roomToShare(): number {
    return Math.min(this.room, (this.#content?.end ?? this.bytesMax) - this.writer.length);
  }

  /**
   * Begins the content, which ends when the packet has `end` bytes. The first message may exceed
   * this end.
   */
  beginContent(end: number): void {
    this.#content = { begin: this.writer.length, end: Math.min(end, this.bytesMax) };
  }

  /** Adds a frame that is known to fit. */
  frame(frame: Frame): void {
    if (this.#states) writeStatesEnd(this.writer);
    this.#states = undefined;
    writeFrame(this.writer, frame);
    this.isEliciting ||= frame.type !== "padding" && frame.type !== "close";
  }

  /** Adds a record, if there is room for it. */
  state(lane: number, interval: number, record: StateRecord): boolean {
    const open = this.#states;
    const goesOn = open?.lane === lane && open.interval === interval && record.stamp >= open.stamp;
    const offset = goesOn ? Number(record.stamp) - Number(open.stamp) : 0;
    const head = goesOn ? 0 : 1 + varintLength(interval) + varintLength(record.stamp) + 1;
    const { length } = record.value;
    const body =
      varintLength(record.key) + varintLength(offset) + varintLength(record.ageMs) + varintLength(length);
    if (head + body + length > this.room) return false;
    if (!goesOn) {
      if (open) writeStatesEnd(this.writer);
      writeStatesHead(this.writer, lane, interval, record.stamp);
      this.#states = { lane, interval, stamp: record.stamp };
    }
    writeStateRecord(this.writer, this.#states!.stamp, record);
    this.isEliciting = true;
    return true;
  }
}

export function writeFrame(writer: PacketWriter, frame: Frame): void {
  switch (frame.type) {
    case "padding":
      return writer.u8(FrameType.padding);
    case "ping":
      return writer.u8(FrameType.ping);
    case "proof":
      writer.u8(FrameType.proof);
      return writer.fixed(frame.proof);
    case "close":
      writer.u8(FrameType.close);
      writer.varint(frame.code);
      return writer.text(frame.reason, CLOSE_REASON_BYTES_MAX);
    case "states":
      writeStatesHead(writer, frame.lane, frame.interval, frame.stamp);
      for (const record of frame.records) writeStateRecord(writer, frame.stamp, record);
      if (frame.ended) writeStatesEnd(writer);
      return;
    case "event":
      writer.u8(FrameType.event | frame.lane);
      writeEventHead(writer, frame);
      return writer.bytes(frame.payload);
    case "event_part":
      writer.u8(FrameType.eventPart | frame.lane);
      writeEventHead(writer, frame);
      return writePart(writer, frame);
    case "state_part":
      writer.u8(FrameType.statePart | frame.lane);
      writer.varint(frame.interval);
      writer.varint(frame.stamp);
      writer.varint(frame.key);
      writer.varint(frame.ageMs);
      return writePart(writer, frame);
    case "window":
      writer.u8(FrameType.window | frame.lane);
      return writer.varint(frame.consumed);
    case "replication":
      writer.u8(FrameType.replication | frame.lane);
      return writer.bytes(frame.payload);
  }
}

function writeStatesHead(writer: PacketWriter, lane: number, interval: UInt64, stamp: UInt64): void {
  writer.u8(FrameType.states | lane);
  writer.varint(interval);
  writer.varint(stamp);
}

function writeStateRecord(writer: PacketWriter, frameStamp: UInt64, record: StateRecord): void {
  writer.varint(record.key);
  writer.varint(subtractUInt64(record.stamp, frameStamp));
  writer.varint(record.ageMs);
  writer.bytes(record.value);
}

function writeStatesEnd(writer: PacketWriter): void {
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
