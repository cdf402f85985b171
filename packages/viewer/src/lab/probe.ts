/**
 * Sends messages to the echo service of the server over one carrier, without waiting, and records when each
 * returns.
 */

import { type Channel, connect } from "nowcast";
import type { CarrierKind } from "nowcast/internal";

const MESSAGE_BYTES = 64;
/** Maximum wait for late messages. */
const GRACE_MS = 5_000;
const STREAM_KEYS = 20;
const STREAM_HZ = 60;
const STREAM_MS = 6_000;
/** The service of every Nowcast server that echoes messages, relative to the page `/lab`. */
const SERVICE = "nowcast/lab";

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export class Probe {
  readonly kind: CarrierKind;
  /** The round trip of each message, in ms. */
  readonly trips: (number | undefined)[] = [];
  /** The age of the shown value at every sample, in ms. */
  readonly ages: number[] = [];
  readonly #channel: Channel;
  readonly #sentAt: number[] = [];
  /** The time at which the newest returned value of each key was produced. */
  readonly #newest = new Map<number, number>();

  private constructor(kind: CarrierKind, channel: Channel) {
    this.kind = kind;
    this.#channel = channel;
    channel.on("message", (message) => {
      const view = new DataView(message.value.buffer, message.value.byteOffset, message.value.byteLength);
      if (message.type === "event") this.#back(view.getUint32(0, true));
      if (message.type === "state") this.#newest.set(Number(message.key), view.getFloat64(0, true));
    });
  }

  static async open(kind: CarrierKind, token: string | undefined, signal: AbortSignal): Promise<Probe> {
    return new Probe(
      kind,
      await connect(new URL(SERVICE, location.href).href, { carriers: [kind], token, signal }),
    );
  }

  /** `changed` is called whenever a message has returned. */
  async echo(samples: number, intervalMs: number, changed: () => void): Promise<void> {
    const start = performance.now();
    for (let number = 0; number < samples; number += 1) {
      const ahead = start + number * intervalMs - performance.now();
      if (ahead > 0) await pause(ahead);
      const message = new Uint8Array(MESSAGE_BYTES);
      new DataView(message.buffer).setUint32(0, number, true);
      this.#sentAt.push(performance.now());
      this.trips.push(undefined);
      this.#channel.event(message);
      changed();
    }
    const end = performance.now() + GRACE_MS;
    while (performance.now() < end && this.trips.includes(undefined) && this.#channel.status.isOpen) {
      await pause(10);
    }
    changed();
  }

  /** Sends values, and measures the age of the returned values in every frame. */
  async stream(): Promise<void> {
    const start = performance.now();
    const lane = this.#channel.lane(1);
    let due = start;
    while (performance.now() < start + STREAM_MS) {
      for (let key = 1; key <= STREAM_KEYS; key += 1) {
        const value = new Uint8Array(MESSAGE_BYTES);
        new DataView(value.buffer).setFloat64(0, performance.now(), true);
        lane.state(key, value);
      }
      due += 1_000 / STREAM_HZ;
      await pause(Math.max(due - performance.now(), 0));
      const now = performance.now();
      if (now > start + 1_000) for (const made of this.#newest.values()) this.ages.push(now - made);
    }
  }

  close(): void {
    this.#channel.close();
  }

  #back(number: number): void {
    const sentAt = this.#sentAt[number];
    if (sentAt !== undefined) this.trips[number] ??= performance.now() - sentAt;
  }
}
