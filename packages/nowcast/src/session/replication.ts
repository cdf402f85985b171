/** States from elsewhere than the queue: bytes that belong to the packet they travel in (`spec/SESSION.md`, section 7). */
import { copyOf } from "../copy-of.js";
import { NowcastError } from "../errors.js";
import type { PacketBuilder } from "./builder.js";
import type { DataPacket } from "./packet/packets.js";
import type { Item } from "./sent.js";

const UNREAD_MAX = 64;
/** Type and length of the frame. */
const HEAD_BYTES = 3;

/** Bytes of the peer's replication source. */
export interface Replicated {
  readonly lane: number;
  readonly packet: number;
  readonly payload: Uint8Array;
}

/**
 * Fills packets at the moment they leave, and hears what became of each. For values that depend on what the peer has: a
 * world that sends differences against an acknowledged snapshot. For opaque values under a key use states.
 */
export interface ReplicationSource {
  /** Whether it has something to send now. It must turn false when {@link fill} gives nothing for a whole packet. */
  readonly hasMore: boolean;
  /** At most `bytesMax` bytes for this packet, or nothing. They are never sent again. */
  fill(packet: number, bytesMax: number): Uint8Array | undefined;
  /** The peer has the packet, or it is regarded as lost. */
  settled(packet: number, arrived: boolean): void;
}

export class ReplicationLanes {
  readonly #sources = new Map<number, ReplicationSource>();
  readonly #unread: Replicated[] = [];

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
      // What does not fit into its share of the packet may need all of it.
      const payload = fillFrom(source, packet, builder.roomToShare) ?? fillFrom(source, packet, builder.room);
      if (payload === undefined) continue;
      builder.frame({ type: "replication", lane, payload });
      items.push({ type: "replication", lane });
    }
  }

  settled(lane: number, packet: number, arrived: boolean): void {
    this.#sources.get(lane)?.settled(packet, arrived);
  }

  /** Whether the payloads of a packet that arrived can wait here for the application. */
  hasRoomFor({ frames }: DataPacket): boolean {
    const lanes = frames.filter(({ type }) => type === "replication").map((frame) => laneOf(frame));
    return lanes.every((lane) => {
      const isOfLane = (other: number) => other === lane;
      const waiting = this.#unread.filter((unread) => isOfLane(unread.lane)).length;
      return waiting + lanes.filter(isOfLane).length <= UNREAD_MAX;
    });
  }

  received(lane: number, packet: number, payload: Uint8Array): void {
    this.#unread.push({ lane, packet, payload: copyOf(payload) });
  }

  take(): Replicated | undefined {
    return this.#unread.shift();
  }
}

function laneOf(frame: DataPacket["frames"][number]): number {
  return "lane" in frame ? frame.lane : 0;
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
