import { readRows } from "../codec/body.js";
import { WireInput } from "../codec/input.js";
import { decodeMsgpack } from "../codec/msgpack-reader.js";
import type { MsgpackValue } from "../codec/msgpack-value.js";
import { planReading, type ReadPlan } from "../codec/read.js";
import type { WireValue } from "../codec/value.js";
import type { WireSchema } from "../codec/wire-schema.js";
import { decodeWireSchema } from "../codec/wire-schema-bytes.js";
import { NowcastError, WireError } from "../errors/nowcast-error.js";
import { crc32 } from "./crc32.js";
import { decodeLz4Block } from "./lz4.js";

export const MAGIC = [0x89, 0x4e, 0x43, 0x53, 0x0d, 0x0a, 0x1a, 0x0a];
export const VERSION = 1;
export const RECORD = { schema: 0x53, chunk: 0x43, about: 0x4d, end: 0x45 } as const;
/** If the number of an unknown kind has this bit set, this release skips the record. */
const SKIPPABLE_BIT = 0x20;
export const COMPRESSION = { none: 0, lz4: 1 } as const;
const CHUNK_BYTES_MAX = 256 * 1024 * 1024;
const FILE_MEMORY_MAX = 1024 * 1024 * 1024;
const SHAPES_MAX = 1024;
/** The cure of a file that cannot be read. */
const CURE = "use an undamaged copy of the save file, and a shape that fits its values";
const SHAPE_BYTES_MAX = 16 * 1024 * 1024;

/** A save file's content; `T` is the type of its rows. */
export interface SaveFile<T = WireValue> {
  /** The writer's notes: program, title, time. */
  readonly about: readonly MsgpackValue[];
  readonly schemas: readonly WireSchema[];
  /** All chunks' rows, in file order. */
  readonly values: readonly T[];
}

/**
 * Reads a save file: `spec/WIRE.md`, section 9. With a `reader` shape every value is converted to that shape. A
 * truncated or damaged file is rejected with the position of the fault.
 *
 * `T` is the type that the reader's shape describes, for example `readSave<ValueOf<typeof Player>>(file,
 * codec.schema)`. Only the shape is checked against the file, so `T` must be the type of the shape that you pass.
 */
export function readSave<T = WireValue>(file: Uint8Array, reader?: WireSchema): SaveFile<T> {
  try {
    const input = new WireInput(file);
    readHeader(input);
    const save = new SaveReader(reader);
    while (save.record(input));
    if (input.at !== file.length) input.fail(`${file.length - input.at} bytes after the end`);
    return save as SaveFile<unknown> as SaveFile<T>;
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw new WireError(error.detail, error.offset, error.path, CURE);
  }
}

function readHeader(input: WireInput): void {
  const magic = input.bytes.subarray(0, MAGIC.length);
  if (magic.length < MAGIC.length || !MAGIC.every((byte, i) => magic[i] === byte)) {
    input.fail("a file that is not a Nowcast save (or that was sent as text)", 0);
  }
  input.advance(MAGIC.length, "the magic");
  const at = input.advance(4, "the header");
  const version = input.view.getUint16(at, true);
  const flags = input.view.getUint16(at + 2, true);
  if (version !== VERSION || flags !== 0) {
    throw new NowcastError(
      "peer-incompatible",
      `a save of version ${version}, flags ${flags}: it was written by a newer release`,
    );
  }
}

class SaveReader implements SaveFile {
  readonly about: MsgpackValue[] = [];
  readonly schemas: WireSchema[] = [];
  readonly values: WireValue[] = [];
  readonly #plans: ReadPlan[] = [];
  readonly #reader: WireSchema | undefined;
  #chunks = 0;
  #schemaBytes = 0;

  constructor(reader: WireSchema | undefined) {
    this.#reader = reader;
  }

  /** Reads a record. Returns false after the last one. */
  record(input: WireInput): boolean {
    if (input.at === input.end) input.fail("a save that was cut off: its last record is missing");
    const start = input.at;
    const kind = input.u8("the kind of a record");
    const length = input.count("the length of a record");
    const payloadAt = input.at;
    const payload = input.raw(length, "a record");
    const sum = crc32(input.bytes.subarray(start, input.at));
    const stated = input.view.getUint32(input.advance(4, "the checksum of a record"), true);
    if (sum !== stated) input.fail("a record whose checksum is wrong: the file is damaged", start);
    try {
      return this.#handle(kind, new WireInput(payload, FILE_MEMORY_MAX));
    } catch (error) {
      if (error instanceof WireError) throw new WireError(error.detail, payloadAt + error.offset, error.path);
      throw error;
    }
  }

  #handle(kind: number, payload: WireInput): boolean {
    switch (kind) {
      case RECORD.schema:
        this.#addSchema(payload);
        return true;
      case RECORD.chunk:
        this.#addChunk(payload);
        return true;
      case RECORD.about:
        this.about.push(decodeMsgpack(payload.bytes));
        return true;
      case RECORD.end:
        this.#checkEnd(payload);
        return false;
      default:
        if ((kind & SKIPPABLE_BIT) !== 0) return true;
        throw new NowcastError(
          "peer-incompatible",
          `a record of kind 0x${kind.toString(16)}: the file was written by a newer release`,
        );
    }
  }

  #addSchema(payload: WireInput): void {
    this.#schemaBytes += payload.bytes.length;
    if (this.schemas.length >= SHAPES_MAX || this.#schemaBytes > SHAPE_BYTES_MAX)
      payload.fail("too many shapes");
    const schema = decodeWireSchema(payload.bytes);
    this.schemas.push(schema);
    this.#plans.push(planReading(schema, this.#reader));
  }

  #addChunk(payload: WireInput): void {
    const schema = payload.count("the shape of a chunk");
    const plan = this.#plans[schema];
    if (plan === undefined) return payload.fail(`a chunk of shape ${schema}, which was not announced`, 0);
    const rows = payload.count("the rows of a chunk");
    if (rows === 0) payload.fail("a chunk of no rows", 0);
    const compression = payload.u8("the compression of a chunk");
    const rawLength = payload.count("the raw length of a chunk");
    if (rawLength > CHUNK_BYTES_MAX)
      payload.fail(`a chunk of ${rawLength} bytes, more than ${CHUNK_BYTES_MAX}`);
    const stored = payload.raw(payload.end - payload.at, "a chunk");
    const raw = this.#decompress(payload, compression, stored, rawLength);
    for (const value of Array.from(readRows(plan, new WireInput(raw, FILE_MEMORY_MAX), rows)))
      this.values.push(value);
    this.#chunks++;
  }

  #decompress(payload: WireInput, compression: number, stored: Uint8Array, rawLength: number): Uint8Array {
    if (compression === COMPRESSION.lz4) return decodeLz4Block(stored, rawLength);
    if (compression !== COMPRESSION.none) {
      throw new NowcastError(
        "peer-incompatible",
        `compression ${compression}: the file was written by a newer release`,
      );
    }
    if (stored.length !== rawLength) payload.fail(`a chunk of ${stored.length} bytes, not ${rawLength}`);
    return stored;
  }

  #checkEnd(payload: WireInput): void {
    const chunks = payload.count("the number of chunks");
    const rows = payload.count("the number of rows");
    payload.mustEnd("the last record");
    if (chunks !== this.#chunks || rows !== this.values.length) {
      payload.fail(
        `a last record of ${chunks} chunks and ${rows} rows, where there are ${this.#chunks} and ${this.values.length}`,
      );
    }
  }
}
