/**
 * Conversion between bytes and values: codecs of one type, shapes, and functions that need neither
 * (`spec/WIRE.md`).
 */

export { BodyReader, type ReadOptions } from "./body.js";
export { type Codec, type CodecParts, defineCodec } from "./codec.js";
export type { MessageDecoder } from "./message-decoder.js";
export type { MessageEncoder } from "./message-encoder.js";
export { decodeMsgpack, type MsgpackDecodeOptions } from "./msgpack-reader.js";
export { MsgpackExtension, MsgpackTimestamp, type MsgpackValue } from "./msgpack-value.js";
export { encodeMsgpack } from "./msgpack-writer.js";
export { createCodec, type FieldSchema, type Schema, types, type ValueOf, wireSchemaOf } from "./schema.js";
export { ScopeReader, ScopeWriter } from "./scope.js";
export type { WireValue } from "./value.js";
export { type WireSchema, wireSchemaHash } from "./wire-schema.js";
export { decodeWireSchema, encodeWireSchema } from "./wire-schema-bytes.js";
export { BodyWriter } from "./write.js";
