/** Messages that a channel delivers. */

/** The newest value of a key. */
export interface StateMessage {
  readonly type: "state";
  readonly lane: number;
  readonly key: number | bigint;
  readonly value: Uint8Array;
  /** The age of the value when it was received, by the estimate of the peer's clock. */
  readonly ageMs: number;
}

/** Something that happened. */
export interface EventMessage {
  readonly type: "event";
  readonly lane: number;
  readonly value: Uint8Array;
}

/** Something that wants an answer, by {@link Channel.reply}. */
export interface CommandMessage {
  readonly type: "command";
  readonly lane: number;
  /** Names it, with the lane. */
  readonly id: number;
  readonly value: Uint8Array;
}

/** Bytes of the peer's replication source, which belong to the packet in which they arrived. */
export interface ReplicationMessage {
  readonly type: "replication";
  readonly lane: number;
  readonly packet: number;
  readonly value: Uint8Array;
  /**
   * When the carrier received the packet, in `performance.now()` time, even if the program was busy and read this
   * message later.
   */
  readonly arrivedAtMs: number;
}

export type ChannelMessage = StateMessage | EventMessage | CommandMessage | ReplicationMessage;
