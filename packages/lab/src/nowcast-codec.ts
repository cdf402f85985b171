import { BodyReader } from "../../nowcast/src/wire/body.js";
import { ScopeReader, ScopeWriter } from "../../nowcast/src/wire/scope.js";
import type { ScalarTag, Shape, WireType } from "../../nowcast/src/wire/shape.js";
import type { WireValue } from "../../nowcast/src/wire/value.js";
import { BodyWriter } from "../../nowcast/src/wire/write.js";
import type { Codec } from "./types.js";

/** A struct of these fields, or a list of it. */
export function structShape(fields: Readonly<Record<string, ScalarTag>>, wrap?: "list"): Shape {
  const item: WireType = { tag: "ref", index: 0 };
  return {
    root: wrap === "list" ? { tag: "list", item } : item,
    definitions: [
      {
        tag: "struct",
        name: "Message",
        fields: Object.entries(fields).map(([name, tag]) => ({ name, type: { tag }, default: undefined })),
      },
    ],
  };
}

/** Ours where the channel implies the type: the body alone. */
export function nowcastCodec<T>(shape: Shape): Codec<T> {
  const writer = new BodyWriter(shape);
  const reader = new BodyReader(shape);
  return {
    name: "nowcast, shape known",
    encode: (value) => writer.write(value as WireValue),
    decode: (bytes) => reader.read(bytes as Uint8Array) as T,
  };
}

/** Ours without anybody describing anything: the shape is inferred and travels along. */
export function inferredCodec<T>(): Codec<T> {
  return {
    name: "nowcast, shape inferred and included",
    encode: (value) => new ScopeWriter().write(value as WireValue),
    decode: (bytes) => new ScopeReader().read(bytes as Uint8Array) as T,
  };
}
