import type { UInt64 } from "../queue/uint64.js";
import {
  type Frame,
  type StateRecord,
  writeFrame,
  writeStateRecord,
  writeStatesEnd,
  writeStatesHead,
} from "./packet/frames.js";
import { type PacketWriter, varintLength } from "./packet/writer.js";

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
