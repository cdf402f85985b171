/** One direction of an emulated link in virtual time, on the SDK's `EmulatedLink`. */

import type { LinkConditions } from "nowcast/impair";
import { createRandom, EmulatedLink } from "nowcast/internal";
import type { Timeline } from "./timeline.js";

export { QUEUE_BYTES_MAX } from "nowcast/internal";

export interface LinkSettings {
  /** The round trip without jitter and queueing. Half of it is the delay of one direction. */
  readonly roundTripMs: number;
  /** The largest additional delay of one direction. Packets keep their order. */
  readonly jitterMs: number;
  /** The share of packets that are lost, from 0 to 1. Each packet is lost independently. */
  readonly loss: number;
  readonly kilobitsPerSecond: number;
}

export class Link {
  readonly #timeline: Timeline;
  readonly #link: EmulatedLink;
  #settings: LinkSettings;

  constructor(timeline: Timeline, settings: LinkSettings, seed: number) {
    this.#timeline = timeline;
    this.#settings = settings;
    this.#link = new EmulatedLink(conditionsOf(settings), createRandom(seed));
  }

  get settings(): LinkSettings {
    return this.#settings;
  }

  set settings(settings: LinkSettings) {
    this.#settings = settings;
    this.#link.conditions = conditionsOf(settings);
  }

  /** Bytes that entered the link, with headers. */
  get bytes(): number {
    return this.#link.bytes;
  }

  /** Sends a packet. Returns false if it will not arrive; a sender must not use that knowledge. */
  send(bytes: number, deliver: () => void): boolean {
    const arrivalMs = this.#link.send(this.#timeline.nowUs / 1_000, bytes);
    if (arrivalMs === undefined) return false;
    this.#timeline.at(arrivalMs * 1_000, deliver);
    return true;
  }
}

function conditionsOf({ roundTripMs, jitterMs, loss, kilobitsPerSecond }: LinkSettings): LinkConditions {
  return { delayMs: roundTripMs / 2, jitterMs, loss, burst: 1, kilobitsPerSecond };
}
