/**
 * Conversion between bytes and values: codecs of one type, shapes, and functions that need neither
 * (`spec/WIRE.md`).
 */

export { type Codec, defineCodec } from "./codec.js";
export type { MessageDecoder } from "./message-decoder.js";
export type { MessageEncoder } from "./message-encoder.js";
export { decodeMsgpack } from "./msgpack-reader.js";
export { MsgpackExtension, MsgpackTimestamp, type MsgpackValue } from "./msgpack-value.js";
export { encodeMsgpack } from "./msgpack-writer.js";
export { createCodec, type Schema, types, type ValueOf } from "./schema.js";
export { ScopeReader, ScopeWriter } from "./scope.js";
export type { WireValue } from "./value.js";
export type { WireSchema } from "./wire-schema.js";
