/**
 * Delivers messages to the receiver. Unreceived messages stay in the session, where newer values replace older ones. Unreceived
 * events fill their lane's window, which stops the peer.
 */
import { clockUs, type Driver } from "../carrier/driver.js";
import type { NowcastError } from "../errors/nowcast-error.js";
import { CancellableWaits } from "../events/cancellable-waits.js";
import { EventKind } from "../session/packet/frames.js";
import type { ChannelMessage, LaneMessage } from "./message.js";
import type { Schemas } from "./schemas.js";

type Receiver<M extends ChannelMessage> = (message: M | undefined) => void;

/** A lane's readers, which receive the lane's messages instead of the channel's readers. */
interface LaneReaders {
  count: number;
  readonly waiting: Receiver<LaneMessage>[];
  isLane(lane: number): boolean;
}

export class Inbox {
  readonly #driver: Driver;
  readonly #schemas: Schemas;
  readonly #waits = new CancellableWaits();
  readonly #waiting: Receiver<ChannelMessage>[] = [];
  readonly #lanes = new Map<number, LaneReaders>();
  readonly #isShared = (lane: number): boolean => !this.#lanes.has(lane);
  #end: { readonly error: NowcastError | undefined } | undefined;
  /** Receives all messages as they arrive, except on lanes with their own readers. */
  listener: ((message: ChannelMessage) => void) | undefined;

  constructor(driver: Driver, schemas: Schemas) {
    this.#driver = driver;
    this.#schemas = schemas;
  }

  /** Returns the next message, except on lanes with their own readers. */
  take(): ChannelMessage | undefined {
    const replicated = this.#driver.session.replication.take();
    if (replicated === undefined) return this.#take(this.#lanes.size > 0 ? this.#isShared : undefined);
    const { lane, packet, payload, arrivedAtUs } = replicated;
    return { type: "replication", lane, packet, value: payload, arrivedAtMs: arrivedAtUs / 1_000 };
  }

  #take(isWanted: ((lane: number) => boolean) | undefined): LaneMessage | undefined {
    const { session } = this.#driver;
    for (;;) {
      const nowUs = clockUs();
      const message = session.receive(nowUs, isWanted);
      if (message === undefined) return undefined;
      const { lane, value } = message;
      if (message.type === "state") {
        const ageMs = Math.max(0, nowUs - message.producedAtUs) / 1_000;
        return { type: "state", lane, key: message.key, value, ageMs };
      }
      if (message.kind === EventKind.command) return { type: "command", lane, id: message.number, value };
      const event = this.#schemas.takeIn(lane, value);
      // An announcement is not a message, so the next entry is taken.
      if (event !== undefined) return { type: "event", lane, value: event };
    }
  }

  /** Waits for the next message, in the order of the calls; `undefined` if no more messages will arrive. */
  receive(signal: AbortSignal | undefined): Promise<ChannelMessage | undefined> {
    return this.#wait(signal, this.#waiting, () => this.take());
  }

  /** Waits for the next message of one lane. */
  async receiveFrom(lane: number, signal: AbortSignal | undefined): Promise<LaneMessage | undefined> {
    const readers = this.#read(lane);
    try {
      return await this.#wait(signal, readers.waiting, () => this.#take(readers.isLane));
    } finally {
      this.#unread(lane, readers);
    }
  }

  /** Iterates over all messages. Throws if the channel failed. */
  async *messages(): AsyncGenerator<ChannelMessage, void> {
    for (let next = await this.receive(undefined); next !== undefined; next = await this.receive(undefined)) {
      yield next;
    }
    if (this.#end?.error !== undefined) throw this.#end.error;
  }

  /** Iterates over the messages of one lane, which other readers do not receive in the meantime. */
  async *messagesFrom(lane: number): AsyncGenerator<LaneMessage, void> {
    const readers = this.#read(lane);
    const next = (): Promise<LaneMessage | undefined> =>
      this.#wait(undefined, readers.waiting, () => this.#take(readers.isLane));
    try {
      for (let message = await next(); message !== undefined; message = await next()) yield message;
    } finally {
      this.#unread(lane, readers);
    }
    if (this.#end?.error !== undefined) throw this.#end.error;
  }

  #wait<M extends ChannelMessage>(
    signal: AbortSignal | undefined,
    waiting: Receiver<M>[],
    take: () => M | undefined,
  ): Promise<M | undefined> {
    return this.#waits.wait(signal, (resolve) => {
      const message = take();
      // Receiving a message gives the peer room to send.
      if (message !== undefined) this.#driver.wake();
      if (message !== undefined || this.#end !== undefined) {
        resolve(message);
        return () => {};
      }
      waiting.push(resolve);
      return () => {
        const at = waiting.indexOf(resolve);
        if (at >= 0) waiting.splice(at, 1);
      };
    });
  }

  #read(lane: number): LaneReaders {
    let readers = this.#lanes.get(lane);
    if (readers === undefined) {
      readers = { count: 0, waiting: [], isLane: (other) => other === lane };
      this.#lanes.set(lane, readers);
    }
    readers.count += 1;
    return readers;
  }

  /** A lane without readers belongs to the channel's readers again. */
  #unread(lane: number, readers: LaneReaders): void {
    readers.count -= 1;
    if (readers.count > 0) return;
    this.#lanes.delete(lane);
    this.#driver.wake();
  }

  /** Delivers the available messages to the waiting receivers. */
  deliver(): void {
    for (const { waiting, isLane } of this.#lanes.values()) {
      while (waiting.length > 0) {
        const message = this.#take(isLane);
        if (message === undefined) break;
        waiting.shift()!(message);
      }
    }
    while (this.#waiting.length > 0 || this.listener !== undefined) {
      const message = this.take();
      if (message === undefined) return;
      const receiver = this.#waiting.shift();
      if (receiver !== undefined) receiver(message);
      else this.listener?.(message);
    }
  }

  /** Ends all waits, because no more messages will arrive. Iterations throw `error`, if there is one. */
  end(error: NowcastError | undefined): void {
    this.#end = { error };
    this.deliver();
    for (const { waiting } of this.#lanes.values())
      for (const receiver of waiting.splice(0)) receiver(undefined);
    for (const receiver of this.#waiting.splice(0)) receiver(undefined);
  }
}
