/** Bytes and values: codecs of one type, shapes, and what needs neither (`spec/WIRE.md`). */

export { BodyReader, type ReadOptions } from "./body.js";
export { type Codec, type CodecParts, defineCodec } from "./codec.js";
export { codecOf, type Described, shapeOf, types, type ValueOf } from "./describe.js";
export type { MessageDecoder } from "./message-decoder.js";
export type { MessageEncoder } from "./message-encoder.js";
export {
  decodeMsgpack,
  encodeMsgpack,
  type MsgpackDecodeOptions,
  MsgpackExtension,
  MsgpackTimestamp,
  type MsgpackValue,
} from "./msgpack.js";
export { ScopeReader, ScopeWriter } from "./scope.js";
export { type Shape, shapeHash } from "./shape.js";
export { decodeShape, encodeShape } from "./shape-bytes.js";
export type { WireValue } from "./value.js";
export { BodyWriter } from "./write.js";
