import { NowcastError, WireError } from "../errors/nowcast-error.js";
import { BodyReader } from "./body.js";
import { MessageDecoder } from "./message-decoder.js";
import { MessageEncoder } from "./message-encoder.js";
import type { WireValue } from "./value.js";
import { type WireSchema, wireSchemaHash } from "./wire-schema.js";
import { decodeWireSchema } from "./wire-schema-bytes.js";
import { BodyWriter } from "./write.js";

/** A type for generated code: its shape, and plain code for its usual bodies. */
export interface CodecParts<T> {
  /** The bytes of the shape, in hexadecimal. */
  readonly schema: string;
  /**
   * Makes a function that writes a body into the encoder's memory. It returns false if the value needs a layout that
   * this code does not support, such as a long text, or if the encoder has new memory.
   */
  readonly write?: (encoder: MessageEncoder) => (value: T) => boolean;
  /** Makes a function that reads the decoder's body; `undefined` when it has such a layout, or is invalid. */
  readonly read?: (decoder: MessageDecoder) => () => T | undefined;
}

/** Encodes and decodes bodies of one type. */
export interface Codec<T> {
  readonly schema: WireSchema;
  readonly schemaBytes: Uint8Array;
  /** Equal hashes mean equal layouts. */
  readonly hash: string;
  /** The body of a value. It stays valid. */
  encode(value: T): Uint8Array<ArrayBuffer>;
  /**
   * The body of a value, valid until any codec encodes the next one. For callers that copy it at once, such as a send.
   * It allocates nothing.
   */
  encodeShared(value: T): Uint8Array<ArrayBuffer>;
  /** Decodes a body of exactly this shape; throws a `WireError` with the place of the fault otherwise. */
  decode(body: Uint8Array): T;
  /**
   * Returns a decoder of this type for values of another version's shape, or the bytes of one. Call it once for each
   * shape.
   */
  reading(writer: WireSchema | Uint8Array): (body: Uint8Array) => T;
}

const encoder = new MessageEncoder();
const decoder = new MessageDecoder();

/** Joins generated code with the general reader and writer, which take over where it stops. */
export function defineCodec<T>(parts: CodecParts<T>): Codec<T> {
  const { schema: hex } = parts;
  const write = parts.write && writing(parts.write);
  const read = parts.read?.(decoder);
  const schemaBytes = fromHex(hex);
  const schema = decodeWireSchema(schemaBytes);
  let writer: BodyWriter | undefined;
  let reader: BodyReader | undefined;
  return {
    schema,
    schemaBytes,
    hash: wireSchemaHash(schemaBytes),
    encode(value) {
      if (write?.(value)) return encoder.copy();
      writer ??= new BodyWriter(schema);
      return writer.write(value as WireValue);
    },
    encodeShared(value) {
      if (write?.(value)) return encoder.shared();
      writer ??= new BodyWriter(schema);
      return writer.write(value as WireValue);
    },
    decode(body) {
      if (read !== undefined) {
        decoder.bytes = body;
        const value = attempt(read);
        if (value !== undefined) return value;
      }
      reader ??= new BodyReader(schema);
      return reader.read(body) as T;
    },
    reading(other) {
      const resolved = new BodyReader(other instanceof Uint8Array ? decodeWireSchema(other) : other, schema);
      return (body) => resolved.read(body) as T;
    },
  };
}

/** Generated code bound to the encoder's memory, which is replaced when a body needs more. */
function writing<T>(bind: (encoder: MessageEncoder) => (value: T) => boolean): (value: T) => boolean {
  let { memory } = encoder;
  let bound = bind(encoder);
  return function write(value): boolean {
    if (memory !== encoder.memory) {
      memory = encoder.memory;
      bound = bind(encoder);
    }
    return bound(value) || (memory !== encoder.memory && write(value));
  };
}

/** If generated code gives up, the general reader reads again, because its errors name the field. */
function attempt<T>(read: () => T | undefined): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}

function fromHex(hex: string): Uint8Array {
  if (!/^([0-9a-f]{2})*$/.test(hex)) throw new NowcastError("misuse", "a shape that is not hexadecimal");
  return Uint8Array.from({ length: hex.length / 2 }, (_, i) =>
    Number.parseInt(hex.slice(i * 2, i * 2 + 2), 16),
  );
}
