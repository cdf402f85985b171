import { type Guess, NOTHING, widen, wireSchemaOf } from "../codec/infer.js";
import type { MsgpackValue } from "../codec/msgpack-value.js";
import { encodeMsgpack } from "../codec/msgpack-writer.js";
import { WireOutput } from "../codec/output.js";
import type { WireValue } from "../codec/value.js";
import type { WireSchema } from "../codec/wire-schema.js";
import { encodeWireSchema } from "../codec/wire-schema-bytes.js";
import { BodyWriter } from "../codec/write.js";
import { NowcastError } from "../errors/nowcast-error.js";
import { crc32 } from "./crc32.js";
import { encodeLz4Block } from "./lz4.js";
import { COMPRESSION, MAGIC, RECORD, VERSION } from "./read.js";

/** Maximum rows of a chunk: enough for good compression, few enough for a reader's memory. */
const CHUNK_ROWS = 4096;

export interface SaveWriteOptions {
  /** The values' shape. Without it, a shape for all values is inferred. */
  readonly schema?: WireSchema;
  /** Notes on the file: program, title, time. */
  readonly about?: { readonly [key: string]: MsgpackValue };
  /** LZ4 by default. */
  readonly compression?: "none" | "lz4";
}

/**
 * Returns a save file with these values, one row each: `spec/WIRE.md`, section 9. For one value, pass a list with one element.
 * {@link readSave} returns the values. Throws a `NowcastError` if `values` is not a list. Write the bytes to a new file, flush
 * it, and rename it over the old file. After a crash, either the old or the new file exists.
 */
export function writeSave(
  values: readonly WireValue[],
  options: SaveWriteOptions = {},
): Uint8Array<ArrayBuffer> {
  if (!Array.isArray(values)) {
    throw new NowcastError("misuse", "writeSave needs a list of values; for one value, pass [value]");
  }
  const {
    schema = wireSchemaOf(values.reduce<Guess>((guess, value) => widen(guess, value), NOTHING)),
    about,
  } = options;
  const file = new WireOutput();
  file.raw(Uint8Array.from([...MAGIC, VERSION, 0, 0, 0]));
  if (about !== undefined) record(file, RECORD.about, encodeMsgpack(about));
  record(file, RECORD.schema, encodeWireSchema(schema));
  const writer = new BodyWriter(schema);
  for (let at = 0; at < values.length; at += CHUNK_ROWS) {
    const rows = values.slice(at, at + CHUNK_ROWS);
    record(file, RECORD.chunk, chunk(writer.writeRows(rows), rows.length, options.compression ?? "lz4"));
  }
  const end = new WireOutput();
  end.varint(Math.ceil(values.length / CHUNK_ROWS));
  end.varint(values.length);
  record(file, RECORD.end, end.take());
  return file.take();
}

/** Incompressible data is stored uncompressed. */
function chunk(raw: Uint8Array, rows: number, compression: "none" | "lz4"): Uint8Array {
  const packed = compression === "lz4" ? encodeLz4Block(raw) : raw;
  const shrinks = packed.length < raw.length;
  const payload = new WireOutput();
  payload.varint(0);
  payload.varint(rows);
  payload.u8(shrinks ? COMPRESSION.lz4 : COMPRESSION.none);
  payload.varint(raw.length);
  payload.raw(shrinks ? packed : raw);
  return payload.take();
}

function record(file: WireOutput, kind: number, payload: Uint8Array): void {
  const start = file.at;
  file.u8(kind);
  file.varint(payload.length);
  file.raw(payload);
  const sum = crc32(file.bytes.subarray(start, file.at));
  const at = file.reserve(4);
  file.view.setUint32(at, sum, true);
}
