import type { Codec as Generated, WireValue } from "../../../packages/nowcast/src/codec/index.js";
import { ScopeReader, ScopeWriter } from "../../../packages/nowcast/src/codec/scope.js";
import type { Codec } from "./types.js";

/**
 * Our codec if the channel implies the type. The generated code of `nowcast gen` writes only the body, into a
 * reused buffer. A channel copies the buffer into its packet, so sending needs no other copy.
 */
export function nowcastCodec<T>(generated: Generated<T>): Codec<T> {
  return {
    name: "nowcast, shape known",
    encode: (value) => generated.encodeShared(value),
    decode: (bytes) => generated.decode(bytes as Uint8Array),
  };
}

/** The same codec with a copy of every body. */
export function keptCodec<T>(generated: Generated<T>): Codec<T> {
  return { ...nowcastCodec(generated), name: "nowcast, to keep", encode: (value) => generated.encode(value) };
}

/** Our codec without a declared type: the shape is inferred and sent along. */
export function inferredCodec<T>(): Codec<T> {
  return {
    name: "nowcast, shape inferred and included",
    encode: (value) => new ScopeWriter().write(value as WireValue),
    decode: (bytes) => new ScopeReader().read(bytes as Uint8Array) as T,
  };
}
