import { WireError } from "../errors/nowcast-error.js";
import { BodyReader } from "./body.js";
import { copyOf } from "./copy-of.js";
import { type Guess, NOTHING, widen, wireSchemaOf } from "./infer.js";
import { WireInput } from "./input.js";
import { decodeMsgpack } from "./msgpack-reader.js";
import type { MsgpackValue } from "./msgpack-value.js";
import { encodeMsgpack } from "./msgpack-writer.js";
import { WireOutput } from "./output.js";
import type { WireValue } from "./value.js";
import { SCHEMA_LIMITS, type WireSchema } from "./wire-schema.js";
import { decodeWireSchema, encodeWireSchema } from "./wire-schema-bytes.js";
import { BodyWriter } from "./write.js";

const ANNOUNCEMENT_ID = 0;
const ANY_ID = 1;
const FIRST_ID = 2;
const ID_MAX = 16_383;
const SHAPES_MAX = 1024;
const SHAPE_BYTES_MAX = 1024 * 1024;

/** Reads messages in one direction of a connection: `spec/WIRE.md`, section 3.1. */
export class ScopeReader {
  readonly #readers = new Map<number, { readonly bytes: Uint8Array; readonly body: BodyReader }>();
  readonly #wanted: ReadonlyMap<string, WireSchema>;
  #schemaBytes = 0;

  /**
   * `wanted` maps the names of root structs and enums to the reader's own shapes. All other values
   * are read with the writer's shape.
   */
  constructor(wanted: Iterable<WireSchema> = []) {
    this.#wanted = new Map([...wanted].map((schema) => [rootName(schema) ?? "", schema]));
  }

  /** Returns a message's value; `undefined` for a message with announcements only. */
  read(message: Uint8Array): WireValue | undefined {
    const input = new WireInput(message);
    while (input.at !== input.end) {
      const at = input.at;
      const id = input.count("a shape id");
      if (id !== ANNOUNCEMENT_ID) return this.#body(input, id, at);
      this.#announced(input, at);
    }
    return undefined;
  }

  #body(input: WireInput, id: number, at: number): WireValue {
    const reader = this.#readers.get(id);
    if (reader === undefined && id !== ANY_ID)
      return input.fail(`shape id ${id}, which was never announced`, at);
    const bodyAt = input.at;
    const body = input.bytes.subarray(bodyAt);
    return within(bodyAt, () => (reader === undefined ? decodeMsgpack(body) : reader.body.read(body)));
  }

  #announced(input: WireInput, at: number): void {
    const id = input.count("the id of an announced shape");
    if (id < FIRST_ID || id > ID_MAX) input.fail(`an announcement of id ${id}`, at);
    const length = input.count("the length of an announced shape");
    if (length > SCHEMA_LIMITS.bytes) input.fail(`a shape of ${length} bytes`, at);
    const bytesAt = input.at;
    const bytes = input.raw(length, "an announced shape");
    const known = this.#readers.get(id);
    if (known !== undefined) {
      const same = known.bytes.length === length && known.bytes.every((byte, i) => bytes[i] === byte);
      if (!same) input.fail(`another shape under id ${id}`, at);
      return;
    }
    this.#schemaBytes += length;
    if (this.#readers.size >= SHAPES_MAX || this.#schemaBytes > SHAPE_BYTES_MAX)
      input.fail("too many shapes", at);
    const schema = within(bytesAt, () => decodeWireSchema(bytes));
    const wanted = this.#wanted.get(rootName(schema) ?? "");
    this.#readers.set(id, { bytes: copyOf(bytes), body: new BodyReader(schema, wanted) });
  }
}

/** Writes messages without declared types: it infers shapes from the values. */
export class ScopeWriter {
  readonly #kinds = new Map<
    string,
    { readonly guess: Guess; readonly id: number; readonly body: BodyWriter }
  >();
  readonly #output = new WireOutput();
  #nextId = FIRST_ID;

  /**
   * Encodes one message. The first value of a kind (an object with certain keys) announces its shape. A value that does
   * not fit announces a wider shape. Announced shapes stay valid, so messages must arrive in order.
   */
  write(value: WireValue): Uint8Array<ArrayBuffer> {
    const kindName = kindOf(value);
    const known = this.#kinds.get(kindName);
    const guess = widen(known?.guess ?? NOTHING, value);
    if (known !== undefined && guess === known.guess) {
      this.#output.varint(known.id);
      known.body.writeTo(this.#output, value);
      return this.#output.take();
    }
    // MessagePack is used if nothing is known about a value, or if there are too many shapes.
    if (guess.tag === "any" || this.#nextId > SHAPES_MAX) return this.#writeAny(value);
    const schema = wireSchemaOf(guess);
    const bytes = encodeWireSchema(schema);
    const kind = { guess, id: this.#nextId++, body: new BodyWriter(schema) };
    this.#kinds.set(kindName, kind);
    this.#output.varint(ANNOUNCEMENT_ID);
    this.#output.varint(kind.id);
    this.#output.varint(bytes.length);
    this.#output.raw(bytes);
    this.#output.varint(kind.id);
    kind.body.writeTo(this.#output, value);
    return this.#output.take();
  }

  #writeAny(value: WireValue): Uint8Array<ArrayBuffer> {
    this.#output.varint(ANY_ID);
    this.#output.raw(encodeMsgpack(value as MsgpackValue));
    return this.#output.take();
  }
}

function rootName(schema: WireSchema): string | undefined {
  if (schema.root.tag !== "ref") return undefined;
  const { name } = schema.definitions[schema.root.index]!;
  return name === "" ? undefined : name;
}

/** Objects with the same keys have the same kind. */
function kindOf(value: WireValue): string {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "value";
  if (value instanceof Map || ArrayBuffer.isView(value)) return "value";
  return `{${Object.keys(value).join("\0")}`;
}

/** Converts an error of a part, so that it names the position in the whole message. */
function within<T>(start: number, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof WireError) throw new WireError(error.detail, start + error.offset, error.path);
    throw error;
  }
}
