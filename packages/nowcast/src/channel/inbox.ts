/**
 * Delivers messages to the receiver. Messages that are not received stay in the session, where newer values replace
 * them.
 */
import { clockUs } from "../carrier/driver.js";
import { EventKind } from "../session/packet/frames.js";
import type { Session } from "../session/session.js";
import type { ChannelMessage } from "./message.js";
import type { Schemas } from "./schemas.js";

export type Receiver = (message: ChannelMessage | undefined) => void;

export class Inbox {
  readonly #session: Session;
  readonly #schemas: Schemas;
  readonly #waiting: Receiver[] = [];
  /** Receives all messages as they arrive. */
  listener: ((message: ChannelMessage) => void) | undefined;

  constructor(session: Session, schemas: Schemas) {
    this.#session = session;
    this.#schemas = schemas;
  }

  /** Whether a receiver waits for messages now. */
  get isWanted(): boolean {
    return this.#waiting.length > 0 || this.listener !== undefined;
  }

  take(): ChannelMessage | undefined {
    const replicated = this.#session.receiveReplication();
    if (replicated !== undefined) {
      const { lane, packet, payload, arrivedAtUs } = replicated;
      return { type: "replication", lane, packet, value: payload, arrivedAtMs: arrivedAtUs / 1_000 };
    }
    const nowUs = clockUs();
    const message = this.#session.receive(nowUs);
    if (message === undefined) return undefined;
    const { lane, value } = message;
    if (message.type === "state") {
      const ageMs = Math.max(0, nowUs - message.producedAtUs) / 1_000;
      return { type: "state", lane, key: message.key, value, ageMs };
    }
    if (message.kind === EventKind.command) return { type: "command", lane, id: message.number, value };
    const event = this.#schemas.takeIn(lane, value);
    // An announcement is not a message, so the next entry is taken.
    return event === undefined ? this.take() : { type: "event", lane, value: event };
  }

  /** Waits in the order of the calls. The returned function cancels the wait. */
  wait(receiver: Receiver): () => void {
    this.#waiting.push(receiver);
    return () => {
      const at = this.#waiting.indexOf(receiver);
      if (at >= 0) this.#waiting.splice(at, 1);
    };
  }

  /** Delivers the available messages to the waiting receivers. */
  deliver(): void {
    while (this.isWanted) {
      const message = this.take();
      if (message === undefined) return;
      const receiver = this.#waiting.shift();
      if (receiver !== undefined) receiver(message);
      else this.listener?.(message);
    }
  }

  /** Ends all waits, because no more messages will arrive. */
  end(): void {
    this.deliver();
    for (const receiver of this.#waiting.splice(0)) receiver(undefined);
  }
}
