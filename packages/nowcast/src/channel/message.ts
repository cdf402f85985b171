/** Messages that a channel delivers. */

/** The newest value of a key. */
export interface StateMessage {
  readonly type: "state";
  readonly lane: number;
  readonly key: number | bigint;
  readonly value: Uint8Array;
  /** The value's age on arrival, estimated with the peer's clock. */
  readonly ageMs: number;
}

/** An event. */
export interface EventMessage {
  readonly type: "event";
  readonly lane: number;
  readonly value: Uint8Array;
}

/** A command, which {@link Channel.reply} answers. */
export interface CommandMessage {
  readonly type: "command";
  readonly lane: number;
  /** The number that identifies the command on its lane. */
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
   * The time at which the carrier received the packet, as `performance.now()` counts. It is correct even if the program
   * was busy and read this message later.
   */
  readonly arrivedAtMs: number;
}

/** A message that a peer put by a verb. */
export type LaneMessage = StateMessage | EventMessage | CommandMessage;

export type ChannelMessage = LaneMessage | ReplicationMessage;
