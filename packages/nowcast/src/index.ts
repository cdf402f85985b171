/** Nowcast for browsers and Node: shared worlds, newest state first, events never lost. */

export type { CarrierKind } from "./carrier/carrier.js";
export { Channel, type ChannelEvents, type Entry } from "./channel/channel.js";
export type { CommandOptions, EventOptions, Lane } from "./channel/lane.js";
export type {
  ChannelMessage,
  CommandMessage,
  EventMessage,
  ReplicationMessage,
  StateMessage,
} from "./channel/message.js";
export type { ChannelPhase, ChannelStatus } from "./channel/status.js";
export { type ConnectOptions, connect } from "./connect/connect.js";
export * from "./delta/index.js";
export {
  ERROR_CODES,
  type ErrorCode,
  type ErrorDetails,
  type Fault,
  NowcastError,
  WireError,
} from "./errors.js";
export {
  createInterpolator,
  type InterpolationSource,
  type Interpolator,
  type InterpolatorOptions,
  type Pose,
} from "./interpolation.js";
export {
  decodeMsgpack,
  encodeMsgpack,
  type MsgpackDecodeOptions,
  MsgpackExtension,
  MsgpackTimestamp,
  type MsgpackValue,
} from "./msgpack.js";
export { type Bounds, type PutOutcome, type QueueEntry, UpdatableQueue } from "./queue/updatable-queue.js";
export { angleBetween, eulerToQuaternion, type NumberArray } from "./rotation.js";
export * from "./session/index.js";
export type { WaitOptions } from "./waiting.js";
export { BodyReader, type ReadOptions } from "./wire/body.js";
export { type Codec, type CodecParts, defineCodec } from "./wire/codec.js";
export type { MessageDecoder } from "./wire/message-decoder.js";
export type { MessageEncoder } from "./wire/message-encoder.js";
export { readSave, type SaveFile, type SaveReadOptions } from "./wire/save.js";
export { type SaveWriteOptions, writeSave } from "./wire/save-writer.js";
export { ScopeReader, ScopeWriter } from "./wire/scope.js";
export { type Shape, shapeHash } from "./wire/shape.js";
export { decodeShape, encodeShape } from "./wire/shape-bytes.js";
export type { WireValue } from "./wire/value.js";
export { BodyWriter } from "./wire/write.js";
export { joinWorld } from "./world.js";
export {
  ENCODINGS,
  type Encoding,
  type Entity,
  type EntityId,
  type EntityKind,
  type Input,
  type JoinOptions,
  type Protocol,
  type Vec3,
  type WebSocketConstructor,
  type WebSocketLike,
  type World,
  type WorldEvents,
  type WorldLink,
  type WorldStats,
  type WorldStatus,
} from "./world-types.js";
