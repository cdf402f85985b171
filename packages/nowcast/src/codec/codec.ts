import { NowcastError, WireError } from "../errors/nowcast-error.js";
import { BodyReader } from "./body.js";
import { MessageDecoder } from "./message-decoder.js";
import { MessageEncoder } from "./message-encoder.js";
import type { WireValue } from "./value.js";
import { type WireSchema, wireSchemaHash } from "./wire-schema.js";
import { decodeWireSchema } from "./wire-schema-bytes.js";
import { BodyWriter } from "./write.js";

/** A type with generated code: its shape, and specialised code for its usual bodies. */
export interface CodecParts<T> {
  /** The shape's bytes, in hexadecimal. */
  readonly schema: string;
  /** The shape with its fields' former names, which the bytes do not contain. */
  readonly reader?: WireSchema;
  /**
   * Makes a function that writes a body into the encoder's memory. It returns false if the value needs a layout that
   * this code does not support, such as a long text, or if the encoder has new memory.
   */
  readonly write?: (encoder: MessageEncoder) => (value: T) => boolean;
  /**
   * Makes a function that reads the decoder's body. The function returns `undefined` if the body
   * has a layout that this code does not support, or is invalid.
   */
  readonly read?: (decoder: MessageDecoder) => () => T | undefined;
}

/** Encodes and decodes bodies of one type. */
export interface Codec<T> {
  readonly schema: WireSchema;
  readonly schemaBytes: Uint8Array;
  /** The shape's hash. Equal hashes mean equal layouts. */
  readonly hash: string;
  /** Returns a value's body in new memory. */
  encode(value: T): Uint8Array<ArrayBuffer>;
  /**
   * Returns a value's body without an allocation, in memory that the next call overwrites. The bytes are valid only
   * until a codec encodes the next value, so the caller must copy them at once, as a send does.
   */
  encodeShared(value: T): Uint8Array<ArrayBuffer>;
  /**
   * Decodes a body with exactly this shape. Throws a `WireError` with the place of the fault if the body is invalid.
   */
  decode(body: Uint8Array): T;
  /**
   * Returns a decoder for values that another version of this type encoded. Pass the shape of that version, or the
   * bytes of the shape. Call it once for each shape.
   */
  reading(writer: WireSchema | Uint8Array): (body: Uint8Array) => T;
}

const encoder = new MessageEncoder();
const decoder = new MessageDecoder();

/**
 * Combines generated code with the general reader and writer, which handle the bodies that the
 * generated code does not support.
 */
export function defineCodec<T>(parts: CodecParts<T>): Codec<T> {
  const { schema: hex } = parts;
  const write = parts.write && writing(parts.write);
  const read = parts.read?.(decoder);
  const schemaBytes = fromHex(hex);
  const decoded = decodeWireSchema(schemaBytes);
  const schema = parts.reader ?? decoded;
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

/**
 * Generated code that is bound to the encoder's memory. It is bound again when the memory is
 * replaced by a larger one.
 */
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

/**
 * If the generated code fails, the general reader reads the body again, because its errors name the
 * field.
 */
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
