/** Packets that left and are neither acknowledged nor lost (RFC 9002, section 6.1). */
import type { RoundTrip } from "./rtt.js";

/** An item in a packet, whose owner is notified when the packet is acknowledged or lost. */
export type Item =
  | { readonly type: "proof" }
  | { readonly type: "window"; readonly lane: number; readonly consumed: number }
  | { readonly type: "replication"; readonly lane: number }
  | {
      readonly type: "message";
      readonly message: Sendable;
      readonly generation: number;
      readonly part: number;
    };

/** A message that is notified when its parts are acknowledged or lost. */
export interface Sendable {
  acknowledged(part: number, generation: number): void;
  lost(part: number, generation: number): void;
  probe(part: number, generation: number): void;
}

export interface SentPacket {
  readonly number: number;
  readonly sentUs: number;
  readonly bytes: number;
  readonly isEliciting: boolean;
  /** Number of times that a packet left with nothing else in flight. */
  readonly busyPeriod: number;
  readonly items: readonly Item[];
}

/**
 * A packet counts as lost if its number is this much below that of an acknowledged packet, unless
 * the path reorders packets.
 */
const REORDERING_THRESHOLD = 3;
/** Maximum remembered packets among those that were declared lost. */
const MISSED_MAX = 16;
/** Number of losses without a late arrival after which the path counts as ordered again. */
const OVERTAKING_LOSSES = 64;

export class SentPackets {
  /** The packets, in the order of their numbers. */
  readonly #outstanding = new Map<number, SentPacket>();
  #next = 0;
  #inFlightBytes = 0;
  #inFlight = 0;
  #busyPeriod = 0;
  /** Packets below this number are no longer counted among the bytes in flight. */
  #countedFrom = 0;
  /** Packets declared lost, the latest at the end. They may still arrive. */
  #missed: SentPacket[] = [];
  /** Remaining losses until the path counts as ordered again. */
  #overtaking = 0;
  /** The longest delay of a packet that arrived after it had been declared lost. */
  #overtakenUs = 0;
  largestAcknowledged = -1;

  get nextNumber(): number {
    return this.#next;
  }

  /** Eliciting packets that are neither acknowledged nor lost. */
  get inFlight(): number {
    return this.#inFlight;
  }

  get inFlightBytes(): number {
    return this.#inFlightBytes;
  }

  push(sentUs: number, bytes: number, isEliciting: boolean, items: readonly Item[]): void {
    const number = this.#next++;
    // Packets with acknowledgements only are not awaited.
    if (!isEliciting) return;
    if (this.#inFlight === 0) this.#busyPeriod += 1;
    const busyPeriod = this.#busyPeriod;
    this.#outstanding.set(number, { number, sentUs, bytes, isEliciting, busyPeriod, items });
    this.#inFlight += 1;
    this.#inFlightBytes += bytes;
  }

  /**
   * From now on the packets in flight do not count among the bytes in flight. Their
   * acknowledgements are still awaited.
   */
  writeOffFlight(): void {
    this.#countedFrom = this.#next;
    this.#inFlightBytes = 0;
  }

  /** Removes the packets of these ranges, the largest last. */
  acknowledge(ranges: readonly (readonly [number, number])[]): SentPacket[] {
    const acknowledged: SentPacket[] = [];
    for (const packet of this.#outstanding.values()) {
      if (ranges.some(([low, high]) => packet.number >= low && packet.number <= high))
        acknowledged.push(packet);
      else if (packet.number > ranges[0]![1]) break;
    }
    for (const packet of acknowledged) this.#remove(packet);
    this.largestAcknowledged = Math.max(this.largestAcknowledged, ranges[0]![1]);
    return acknowledged;
  }

  /** Removes the packets that now count as lost. */
  detectLost(nowUs: number, rtt: RoundTrip): SentPacket[] {
    const lost: SentPacket[] = [];
    for (const packet of this.#outstanding.values()) {
      if (packet.number >= this.largestAcknowledged) break;
      const isFarBelow =
        this.#overtaking === 0 && packet.number + REORDERING_THRESHOLD <= this.largestAcknowledged;
      if (isFarBelow || packet.sentUs + rtt.lossDelayUs(this.#overtakenUs) <= nowUs) lost.push(packet);
    }
    for (const packet of lost) {
      this.#remove(packet);
      this.#overtaking = Math.max(0, this.#overtaking - 1);
      this.#missed.push(packet);
    }
    if (this.#overtaking === 0) this.#overtakenUs = 0;
    this.#missed.splice(0, this.#missed.length - MISSED_MAX);
    return lost;
  }

  /**
   * Returns the bytes of the packets in these ranges that were declared lost but had only been
   * overtaken. From then on the age of a packet decides whether it counts as lost, as in RACK (RFC
   * 8985), and not the number of later acknowledgements.
   */
  findMissed(nowUs: number, ranges: readonly (readonly [number, number])[]): number {
    let bytes = 0;
    const isMissed = ({ number }: SentPacket) =>
      !ranges.some(([low, high]) => number >= low && number <= high);
    for (const packet of this.#missed) {
      if (isMissed(packet)) continue;
      bytes += packet.bytes;
      this.#overtaking = OVERTAKING_LOSSES;
      this.#overtakenUs = Math.max(this.#overtakenUs, nowUs - packet.sentUs);
    }
    if (bytes > 0) this.#missed = this.#missed.filter(isMissed);
    return bytes;
  }

  /** The time at which the next packet will count as lost if nothing arrives. */
  lossAtUs(rtt: RoundTrip): number | undefined {
    for (const packet of this.#outstanding.values()) {
      const isOvertaken = packet.number < this.largestAcknowledged;
      return isOvertaken ? packet.sentUs + rtt.lossDelayUs(this.#overtakenUs) : undefined;
    }
    return undefined;
  }

  /** The oldest packet that is neither acknowledged nor lost. */
  oldest(): SentPacket | undefined {
    for (const packet of this.#outstanding.values()) return packet;
    return undefined;
  }

  /**
   * Removes and returns everything that is neither acknowledged nor lost, for example because the
   * carrier ended.
   */
  takeAll(): SentPacket[] {
    const all = [...this.#outstanding.values()];
    for (const packet of all) this.#remove(packet);
    // The path has changed. Missing packets of the old path never arrive, or do not describe the
    // new path.
    this.#missed = [];
    this.#overtaking = 0;
    this.#overtakenUs = 0;
    return all;
  }

  #remove(packet: SentPacket): void {
    this.#outstanding.delete(packet.number);
    this.#inFlight -= 1;
    if (packet.number >= this.#countedFrom) this.#inFlightBytes -= packet.bytes;
  }
}
