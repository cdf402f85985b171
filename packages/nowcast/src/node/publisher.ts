/** One-to-many channels: `crates/nowcast/src/publish/` is the same in Rust. */
import { checkKey, checkValue } from "../channel/arguments.js";
import type { Channel } from "../channel/channel.js";
import type { TypedLane, ValueCodec } from "../channel/typed-lane.js";
import { ASYNC_DISPOSE } from "../events/cancellable-waits.js";
import { CloseCode } from "../session/fault.js";
import type { Service } from "./service.js";

/** Subscribers have this time to receive all messages when the publisher is closed. */
const DRAIN_MS_MAX = 5_000;

/**
 * The bounds of the newest values that a publisher keeps: half of a session's bounds, so that states alone never make a
 * subscriber fall behind.
 */
const KEYS_MAX = 32_768;
const BYTES_MAX = 8 * 1_048_576;

export interface PublisherStats {
  readonly subscribers: number;
  /** Subscribers that were closed with the code `behind`, because they did not receive messages fast enough. */
  readonly behind: number;
  /** Messages from subscribers, which are dropped. */
  readonly ignored: number;
}

/** A codec whose values are encoded already. There is one for each codec of a typed publisher. */
type BodyCodec = ValueCodec<Uint8Array>;

interface NewestValue {
  readonly body: Uint8Array;
  readonly codec: BodyCodec | undefined;
}

/** A lane for values of one type: one of {@link Publisher.typed}. */
export interface TypedPublisher<T> {
  /** See {@link Publisher.state}. */
  state(key: number | bigint, value: T): boolean;
  /** See {@link Publisher.event}. */
  event(value: T): void;
}

/**
 * Puts messages for all subscribers of a name: programs that `connect` to it. A subscriber first receives the newest
 * value of every key, and then every later event with the states that precede it.
 *
 * ```ts
 * const publisher = listener.publish("tracker");
 * publisher.state(1, encode(pose));
 * ```
 *
 * No call waits. A value is encoded and copied once for all subscribers. A subscriber whose unsent messages exceed the
 * bounds of its session is closed with the code `behind` and counted in {@link stats}; the others are not affected.
 */
export class Publisher {
  readonly #service: Service;
  readonly #newest = new Map<number | bigint, NewestValue>();
  readonly #subscribers = new Map<Channel, Map<BodyCodec, TypedLane<Uint8Array>>>();
  #bytes = 0;
  #behind = 0;
  #ignored = 0;

  /** Made by `Listener.publish`. */
  constructor(service: Service) {
    this.#service = service;
    void this.#admit();
  }

  get stats(): PublisherStats {
    return { subscribers: this.#subscribers.size, behind: this.#behind, ignored: this.#ignored };
  }

  /**
   * Puts the newest value of `key` (1 to 2^64 − 1). Returns false if the newest values already have 32,768 keys or
   * 8 MiB, the maximum. Throws a misuse for a value that is not a `Uint8Array`.
   */
  state(key: number | bigint, value: Uint8Array): boolean {
    return this.#state(key, new Uint8Array(checkValue(value, "state")), undefined);
  }

  /** Puts an event. It is delivered once, in order, to every present subscriber. */
  event(value: Uint8Array): void {
    this.#event(new Uint8Array(checkValue(value, "event")), undefined);
  }

  /** Returns the same publisher for values of a type. Subscribers may have another version of the type. */
  typed<T>(codec: ValueCodec<T>): TypedPublisher<T> {
    const { schemaBytes } = codec;
    const bodies: BodyCodec = {
      encode: (body) => body,
      decode: (body) => body,
      ...(schemaBytes === undefined ? {} : { schemaBytes }),
    };
    return {
      state: (key, value) => this.#state(key, new Uint8Array(codec.encode(value)), bodies),
      event: (value) => this.#event(new Uint8Array(codec.encode(value)), bodies),
    };
  }

  /**
   * Releases the name. Subscribers are closed when they have received all messages, or after 5 s; the promise resolves
   * then.
   */
  async close(): Promise<void> {
    this.#service.close();
    const closing = [...this.#subscribers.keys()].map(async (channel) => {
      await channel.drained({ signal: AbortSignal.timeout(DRAIN_MS_MAX) }).catch(() => {});
      channel.close();
    });
    await Promise.all(closing);
  }

  /** Called at the end of `await using`. */
  [ASYNC_DISPOSE](): Promise<void> {
    return this.close();
  }

  #state(key: number | bigint, body: Uint8Array, codec: BodyCodec | undefined): boolean {
    const checked = checkKey(key);
    const before = this.#newest.get(checked);
    const bytes = this.#bytes - (before?.body.length ?? 0) + body.length;
    if (bytes > BYTES_MAX || (before === undefined && this.#newest.size >= KEYS_MAX)) return false;
    this.#bytes = bytes;
    this.#newest.set(checked, { body, codec });
    for (const channel of [...this.#subscribers.keys()]) this.#putState(channel, checked, body, codec);
    return true;
  }

  #event(body: Uint8Array, codec: BodyCodec | undefined): void {
    for (const channel of [...this.#subscribers.keys()]) {
      const lane = codec === undefined ? channel : this.#laneOf(channel, codec);
      if (lane.event(body) === false) this.#fellBehind(channel);
    }
  }

  #putState(channel: Channel, key: number | bigint, body: Uint8Array, codec: BodyCodec | undefined): void {
    const lane = codec === undefined ? channel : this.#laneOf(channel, codec);
    if (!lane.state(key, body)) this.#fellBehind(channel);
  }

  #laneOf(channel: Channel, codec: BodyCodec): TypedLane<Uint8Array> {
    const lanes = this.#subscribers.get(channel)!;
    let lane = lanes.get(codec);
    if (lane === undefined) {
      lane = channel.lane(codec);
      lanes.set(codec, lane);
    }
    return lane;
  }

  #fellBehind(channel: Channel): void {
    if (!this.#subscribers.delete(channel) || channel.status.phase === "closed") return;
    this.#behind += 1;
    channel.close(CloseCode.behind, "the subscriber does not receive messages fast enough");
  }

  async #admit(): Promise<void> {
    for await (const channel of this.#service) {
      this.#subscribers.set(channel, new Map());
      channel.on("message", () => this.#ignored++);
      channel.on("status", ({ phase }) => {
        if (phase === "closed") this.#subscribers.delete(channel);
      });
      for (const [key, { body, codec }] of this.#newest) {
        if (this.#subscribers.has(channel)) this.#putState(channel, key, body, codec);
      }
    }
  }
}
