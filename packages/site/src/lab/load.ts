/** The load of the lab: states of 64 bytes at 60 Hz, and ten events a second. */

export const STATE_BYTES = 64;
export const EVENT_BYTES = 64;
/** The key and the length before a message. */
export const FRAMING_BYTES = 6;
export const TICK_US = 1_000_000 / 60;
/** Every sixth tick has an event. */
export const TICKS_PER_EVENT = 6;

export interface StateMessage {
  readonly type: "state";
  readonly key: number;
  readonly putAtUs: number;
}

export interface EventMessage {
  readonly type: "event";
  readonly putAtUs: number;
}

export type LoadMessage = StateMessage | EventMessage;

export function bytesOf(message: LoadMessage): number {
  return FRAMING_BYTES + (message.type === "state" ? STATE_BYTES : EVENT_BYTES);
}

/** A way to send the load over its own link. */
export interface Transport {
  /** Sends all messages of one tick. */
  put(messages: readonly LoadMessage[]): void;
  /** Bytes on the link in the direction of the receiver, with headers. */
  readonly bytes: number;
}

/** Called for each message when the receiver may show it. */
export type Deliver = (message: LoadMessage) => void;
