import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import { BodyReader } from "../../src/codec/body.js";
import { decodeMsgpack } from "../../src/codec/msgpack-reader.js";
import { encodeMsgpack } from "../../src/codec/msgpack-writer.js";
import { ScopeReader } from "../../src/codec/scope.js";
import { decodeWireSchema, encodeWireSchema } from "../../src/codec/wire-schema-bytes.js";
import { BodyWriter } from "../../src/codec/write.js";
import { columnsOf, type DeltaField, type DeltaFrame } from "../../src/delta/frame.js";
import { FrameReader } from "../../src/delta/frame-reader.js";
import { NowcastError } from "../../src/index.js";
import { crc32 } from "../../src/save/crc32.js";
import { MAGIC, readSave, VERSION } from "../../src/save/read.js";
import { Random } from "./random-wire.js";

/**
 * Reads the inputs that `fuzz/` found for the Rust decoders. `NOWCAST_CORPUS` names a folder with one folder for each
 * fuzz target: `NOWCAST_CORPUS=fuzz/corpus npx vitest run corpus`. The specification's vectors are always read, too.
 * Every input is read unchanged, and then with random damage.
 */
const CORPUS = process.env["NOWCAST_CORPUS"];
const DAMAGED = Number(process.env["NOWCAST_CORPUS_DAMAGED"] ?? 4);
const VECTORS = fileURLToPath(new URL("../../../../spec/vectors/wire/", import.meta.url));
const MINUTES = 30;

const MEMORY_MAX = 4 * 1024 * 1024;
const ENTITIES_MAX = 300;
const BASELINES_MAX = 3;
const FIELDS: readonly DeltaField[] = [
  { kind: "number" },
  { kind: "number" },
  { kind: "number" },
  { kind: "orientation", bits: 9 },
  { kind: "number" },
];

/** Splits an input as the fuzz targets do: a byte of length before every part. */
function* parts(data: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < data.length; at += 1 + data[at]!) yield data.subarray(at + 1, at + 1 + data[at]!);
}

/** Checks that a value that was read can be written and read again. */
function values(data: Uint8Array): void {
  const schemaEnd = 1 + (data[0] ?? 0);
  const schema = decodeWireSchema(data.subarray(1, schemaEnd));
  expect(decodeWireSchema(encodeWireSchema(schema))).toEqual(schema);
  const reader = new BodyReader(schema, undefined, { memoryMax: MEMORY_MAX });
  const value = reader.read(data.subarray(schemaEnd));
  const again = new BodyReader(schema).read(new BodyWriter(schema).write(value));
  // Foreign bytes may leave out a component of a quaternion that is not the largest. A writer never does
  // this.
  if (!JSON.stringify(schema).includes('"quat"')) expect(isDeepStrictEqual(again, value)).toBe(true);
}

function messages(data: Uint8Array): void {
  const reader = new ScopeReader();
  for (const message of parts(data)) attempt(() => reader.read(message));
}

function any(data: Uint8Array): void {
  const value = decodeMsgpack(data);
  expect(isDeepStrictEqual(decodeMsgpack(encodeMsgpack(value)), value)).toBe(true);
}

/** Adds the header and corrects the checksums, as the fuzz target does. */
function save(data: Uint8Array): void {
  const file = [...MAGIC, VERSION, 0, 0, 0];
  for (let at = 0; at + 2 <= data.length; ) {
    const payload = data.subarray(at + 2, at + 2 + (data[at + 1]! & 0x7f));
    const record = Uint8Array.of(data[at]!, payload.length, ...payload);
    file.push(...record, ...new Uint8Array(Uint32Array.of(crc32(record)).buffer));
    at += record.length;
  }
  readSave(Uint8Array.from(file));
}

/** Each decoded frame becomes a baseline of the next ones, as in a conversation with a hostile peer. */
function delta(data: Uint8Array): void {
  const reader = new FrameReader(columnsOf(FIELDS), ENTITIES_MAX);
  const known: DeltaFrame[] = [];
  let tick = 1000;
  for (const packet of parts(data)) {
    attempt(() => {
      const frame = reader.read(tick, packet, known);
      expect(frame.ids.length).toBeLessThanOrEqual(ENTITIES_MAX);
      known.unshift(frame);
      known.length = Math.min(known.length, BASELINES_MAX);
    });
    tick++;
  }
}

/** Runs a reader on arbitrary bytes. Returns whether it accepted them. Only errors that name a fault may be thrown. */
function attempt(read: () => void): boolean {
  try {
    read();
    return true;
  } catch (error) {
    if (!(error instanceof NowcastError)) throw error;
    expect(["peer-misbehaved", "peer-incompatible"]).toContain(error.fault);
    return false;
  }
}

/** An input with some bits flipped, or cut. */
function damage(data: Uint8Array, random: Random): Uint8Array {
  if (data.length === 0) return data;
  if (random.chance(0.25)) return data.subarray(0, random.below(data.length));
  const damaged = new Uint8Array(data);
  for (let flips = 1 + random.below(4); flips > 0; flips--)
    damaged[random.below(data.length)]! ^= 1 << random.below(8);
  return damaged;
}

const bytes = (hex: string): Uint8Array => Buffer.from(hex, "hex");

/** The hexadecimal texts of a file of vectors, as inputs of a target. */
function vectors<Case>(file: string, input: (vector: Case) => readonly Uint8Array[]): Uint8Array[] {
  const { cases } = JSON.parse(readFileSync(join(VECTORS, file), "utf8")) as { cases: Case[] };
  return cases.flatMap(input);
}

/** Concatenates parts, each after one byte with its length. Parts that are too long for one byte are left out. */
function joined(all: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(all.filter((part) => part.length < 256).flatMap((part) => [part.length, ...part]));
}

const body = ({ shape, body }: { shape: string; body: string }): Uint8Array[] =>
  shape.length < 512 ? [Uint8Array.of(...joined([bytes(shape)]), ...bytes(body))] : [];

const { steps } = JSON.parse(readFileSync(join(VECTORS, "../delta/frames.json"), "utf8")) as {
  steps: { bytes: string }[];
};
const deltas = steps.map(({ bytes }) => bytes);

const TARGETS: Readonly<Record<string, readonly [(data: Uint8Array) => void, () => Uint8Array[]]>> = {
  wire_values: [values, () => [...vectors("values.json", body), ...vectors("invalid.json", body)]],
  wire_messages: [
    messages,
    () => vectors("messages.json", ({ messages }: { messages: string[] }) => [joined(messages.map(bytes))]),
  ],
  wire_any: [any, () => vectors("msgpack-suite.json", ({ forms }: { forms: string[] }) => forms.map(bytes))],
  wire_save: [save, () => [Uint8Array.of(0x53, 2, 4, 0, 0x43, 6, 0, 1, 0, 5, 0, 7), new Uint8Array(60)]],
  wire_delta: [delta, () => [new Uint8Array(300), new Uint8Array(300).fill(9), joined(deltas.map(bytes))]],
};

describe.each(Object.entries(TARGETS))("%s", (target, [read, seeds]) => {
  it(
    "accepts the findings of its fuzzer, or rejects them by name",
    { timeout: MINUTES * 60_000 },
    async () => {
      const random = new Random(1);
      const inputs = seeds();
      const folder = CORPUS === undefined ? "" : join(CORPUS, target);
      if (existsSync(folder))
        for (const file of readdirSync(folder)) inputs.push(readFileSync(join(folder, file)));
      let taken = 0;
      for (const input of inputs) {
        // Lets the test's process handle messages while it runs.
        await setImmediate();
        for (let i = 0; i <= DAMAGED; i++) {
          const data = i === 0 ? input : damage(input, random);
          try {
            if (attempt(() => read(data))) taken++;
          } catch (error) {
            throw new Error(`${target} fails at ${Buffer.from(data).toString("hex")}`, { cause: error });
          }
        }
      }
      console.info(
        `${target}: ${inputs.length} inputs, ${inputs.length * (1 + DAMAGED)} readings, ${taken} taken`,
      );
      expect(inputs.length).toBeGreaterThan(0);
    },
  );
});
