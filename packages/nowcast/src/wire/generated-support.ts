/** What generated codecs inside this package import; outside it they import the package. */
export { type Codec, defineCodec } from "./codec.js";
export type { MessageDecoder } from "./message-decoder.js";
export type { MessageEncoder } from "./message-encoder.js";
export type { WireValue } from "./value.js";
