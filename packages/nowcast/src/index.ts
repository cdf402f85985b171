/** Channels: four verbs over any carrier, newest state first, events never lost. */

export type { CarrierKind, CarrierWrapper, OpenCarrier } from "./carrier/carrier.js";
export type { Channel, ChannelEvents, Entry } from "./channel/channel.js";
export type { CommandOptions, Lane } from "./channel/lane.js";
export type {
  ChannelMessage,
  CommandMessage,
  EventMessage,
  LaneMessage,
  ReplicationMessage,
  StateMessage,
} from "./channel/message.js";
export type { ChannelPhase, ChannelStatus } from "./channel/status.js";
export type { Typed, TypedLane, ValueCodec } from "./channel/typed-lane.js";
export { type ConnectOptions, connect } from "./connect/connect.js";
export {
  ERROR_CODES,
  type ErrorCode,
  type ErrorDetails,
  type Fault,
  NowcastError,
  WireError,
} from "./errors/nowcast-error.js";
export type { WaitOptions } from "./events/cancellable-waits.js";
export { type Bounds, type PutOutcome, type QueueEntry, UpdatableQueue } from "./queue/updatable-queue.js";
export type { SessionConfig } from "./session/config.js";
export { CloseCode, type Closed } from "./session/fault.js";
export type { Limits } from "./session/limits.js";
export type { ReplicationSource } from "./session/replication.js";
export type { WebSocketConstructor, WebSocketLike } from "./websocket/websocket.js";
