/** Channels: four verbs over any carrier, newest state first, events never lost. */

export type { Channel } from "./channel/channel.js";
export type { Lane } from "./channel/lane.js";
export type { ChannelMessage } from "./channel/message.js";
export type { ChannelStatus } from "./channel/status.js";
export type { TypedLane, ValueCodec } from "./channel/typed-lane.js";
export { type ConnectOptions, connect } from "./connect/connect.js";
export { type ErrorCode, NowcastError } from "./errors/nowcast-error.js";
export { UpdatableQueue } from "./queue/updatable-queue.js";
