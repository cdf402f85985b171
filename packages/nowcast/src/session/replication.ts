/**
 * Replication sources and their payloads: bytes that do not come from a queue and belong to the
 * packet that carries them (`spec/SESSION.md`, section 7).
 */
import { NowcastError } from "../errors/nowcast-error.js";
import type { PacketBuilder } from "./packet/builder.js";
import type { Item } from "./sent.js";

/** Maximum number of a lane's payloads that wait for the application. The newest are kept. */
const UNREAD_MAX = 64;
/** Bytes for the type and the length of the frame. */
const HEAD_BYTES = 3;

/** Bytes of the peer's replication source. */
export interface Replicated {
  readonly lane: number;
  readonly packet: number;
  readonly payload: Uint8Array;
  /** The time at which the carrier received the packet, in microseconds. */
  readonly arrivedAtUs: number;
}

/**
 * Fills packets when they leave, and learns each packet's outcome. Use a source for values that depend on the peer's
 * state, such as differences from an acknowledged snapshot. For all other values, use states.
 */
export interface ReplicationSource {
  /**
   * Whether the source has anything to send now. It must become false when {@link fill} returns nothing for an empty
   * packet.
   */
  readonly hasMore: boolean;
  /**
   * Returns at most `bytesMax` bytes for this packet, or `undefined`. The bytes are never sent
   * again.
   */
  fill(packet: number, bytesMax: number): Uint8Array | undefined;
  /** Called when the packet was acknowledged or counts as lost. */
  settled(packet: number, arrived: boolean): void;
}

export class ReplicationLanes {
  readonly #sources = new Map<number, ReplicationSource>();
  readonly #unread: Replicated[] = [];
  /** The time at which the carrier received the current packet. */
  arrivedAtUs = 0;

  /** Whether a source has content for a packet now. */
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
      // If a record does not fit into its share of the packet, it may use the whole packet.
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
   * Stores a payload until it is read. If too many payloads of the lane are unread, drops the
   * oldest and returns true. The other frames of the packet are delivered.
   */
  received(lane: number, packet: number, payload: Uint8Array): boolean {
    const ofLane = this.#unread.filter((unread) => unread.lane === lane);
    const givesUp = ofLane.length >= UNREAD_MAX;
    if (givesUp) this.#unread.splice(this.#unread.indexOf(ofLane[0]!), 1);
    this.#unread.push({ lane, packet, payload, arrivedAtUs: this.arrivedAtUs });
    return givesUp;
  }

  /** The next bytes of the peer's sources, with the number of the packet that carried them. */
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
