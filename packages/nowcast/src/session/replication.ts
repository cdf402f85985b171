/** States from elsewhere than the queue: bytes that belong to the packet they travel in (`spec/SESSION.md`, section 7). */
import { copyOf } from "../codec/copy-of.js";
import { NowcastError } from "../errors/nowcast-error.js";
import type { PacketBuilder } from "./builder.js";
import type { Item } from "./sent.js";

/** Payloads of a lane that wait for the application, the newest. */
const UNREAD_MAX = 64;
/** Type and length of the frame. */
const HEAD_BYTES = 3;

/** Bytes of the peer's replication source. */
export interface Replicated {
  readonly lane: number;
  readonly packet: number;
  readonly payload: Uint8Array;
  /** When the carrier received its packet, in microseconds. */
  readonly arrivedAtUs: number;
}

/**
 * Fills packets when they leave, and learns the outcome of each. For values that depend on the peer's state, such as
 * differences from an acknowledged snapshot. For opaque values under a key use states.
 */
export interface ReplicationSource {
  /** Whether it has something to send now. It must turn false when {@link fill} gives nothing for a whole packet. */
  readonly hasMore: boolean;
  /** At most `bytesMax` bytes for this packet, or `undefined`. They are never sent again. */
  fill(packet: number, bytesMax: number): Uint8Array | undefined;
  /** The packet was acknowledged, or counts as lost. */
  settled(packet: number, arrived: boolean): void;
}

export class ReplicationLanes {
  readonly #sources = new Map<number, ReplicationSource>();
  readonly #unread: Replicated[] = [];
  /** When the carrier received the current packet. */
  arrivedAtUs = 0;

  /** Whether a packet could carry anything now. */
  get hasMore(): boolean {
    for (const source of this.#sources.values()) if (source.hasMore) return true;
    return false;
  }

  set(lane: number, source: ReplicationSource | undefined): void {
    if (source === undefined) this.#sources.delete(lane);
    else this.#sources.set(lane, source);
  }

  fill(packet: number, builder: PacketBuilder, items: Item[]): void {
    for (const [lane, source] of this.#sources) {
      // A record that does not fit into its share of the packet may need the whole packet.
      const payload = fillFrom(source, packet, builder.roomToShare) ?? fillFrom(source, packet, builder.room);
      if (payload === undefined) continue;
      builder.frame({ type: "replication", lane, payload });
      items.push({ type: "replication", lane });
    }
  }

  settled(lane: number, packet: number, arrived: boolean): void {
    this.#sources.get(lane)?.settled(packet, arrived);
  }

  /**
   * Keeps a payload until it is read. If too many are unread, the oldest of the lane is dropped, and this returns true.
   * Other frames of that packet are delivered.
   */
  received(lane: number, packet: number, payload: Uint8Array): boolean {
    const ofLane = this.#unread.filter((unread) => unread.lane === lane);
    const givesUp = ofLane.length >= UNREAD_MAX;
    if (givesUp) this.#unread.splice(this.#unread.indexOf(ofLane[0]!), 1);
    this.#unread.push({ lane, packet, payload: copyOf(payload), arrivedAtUs: this.arrivedAtUs });
    return givesUp;
  }

  take(): Replicated | undefined {
    return this.#unread.shift();
  }
}

function fillFrom(source: ReplicationSource, packet: number, frameBytes: number): Uint8Array | undefined {
  const room = frameBytes - HEAD_BYTES;
  if (room <= 0 || !source.hasMore) return undefined;
  const payload = source.fill(packet, room);
  if (payload === undefined || payload.length === 0) return undefined;
  if (payload.length > room)
    throw new NowcastError("misuse", "a replication source must keep to the room it was given");
  return payload;
}
