/** One direction of an emulated link: a queue before a narrow hop, then delay, jitter and loss. */
import { createRandom } from "./random.js";
import type { Timeline } from "./timeline.js";

export interface LinkSettings {
  /** The round trip without jitter and queueing. Half of it is the delay of one direction. */
  readonly roundTripMs: number;
  /** The largest additional delay of one direction. Packets keep their order. */
  readonly jitterMs: number;
  /** The share of packets that are lost, from 0 to 1. Each packet is lost independently. */
  readonly loss: number;
  readonly kilobitsPerSecond: number;
}

/** Maximum bytes that wait before the narrow hop. Further packets are dropped. */
export const QUEUE_BYTES_MAX = 64 * 1024;

export class Link {
  settings: LinkSettings;
  /** Bytes that entered the link, with headers. */
  bytes = 0;
  readonly #timeline: Timeline;
  readonly #random: () => number;
  #freeAtUs = 0;
  #lastArrivalUs = 0;

  constructor(timeline: Timeline, settings: LinkSettings, seed: number) {
    this.#timeline = timeline;
    this.settings = settings;
    this.#random = createRandom(seed);
  }

  /** Sends a packet. Returns false if it will not arrive; a sender must not use that knowledge. */
  send(bytes: number, deliver: () => void): boolean {
    const { roundTripMs, jitterMs, loss, kilobitsPerSecond } = this.settings;
    const [fate, jitter] = [this.#random(), this.#random()];
    const bytesPerUs = kilobitsPerSecond / 8_000;
    const { nowUs } = this.#timeline;
    const waitingBytes = Math.max(0, this.#freeAtUs - nowUs) * bytesPerUs;
    this.bytes += bytes;
    if (waitingBytes + bytes > QUEUE_BYTES_MAX) return false;
    this.#freeAtUs = Math.max(nowUs, this.#freeAtUs) + bytes / bytesPerUs;
    if (fate < loss) return false;
    const arrivalUs = this.#freeAtUs + (roundTripMs / 2 + jitter * jitterMs) * 1_000;
    this.#lastArrivalUs = Math.max(this.#lastArrivalUs, arrivalUs);
    this.#timeline.at(this.#lastArrivalUs, deliver);
    return true;
  }
}
