import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { BodyReader } from "../../src/codec/body.js";
import type { WireValue } from "../../src/codec/value.js";
import { decodeWireSchema, encodeWireSchema } from "../../src/codec/wire-schema-bytes.js";
import { BodyWriter } from "../../src/codec/write.js";
import { Random, randomSchema, randomValue } from "./random-wire.js";

/** The long form: `NOWCAST_DIFFERENTIAL_VALUES=100000 npx vitest run differential`. */
const VALUES = Number(process.env["NOWCAST_DIFFERENTIAL_VALUES"] ?? 2000);
const SEED = Number(process.env["NOWCAST_DIFFERENTIAL_SEED"] ?? 1);
const VALUES_PER_SHAPE = 10;
const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));

interface Trip {
  readonly schema: string;
  readonly body: string;
  readonly value: WireValue;
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "hex"));

/**
 * Starts the Rust side: the program that `NOWCAST_DIFFERENTIAL` names, or the example that cargo builds. For many values, a
 * release build is faster in total.
 */
function startRust(): ChildProcessWithoutNullStreams {
  const built = process.env["NOWCAST_DIFFERENTIAL"];
  if (VALUES <= 10_000 && built !== undefined) return spawn(built);
  const profile = VALUES > 10_000 ? ["--release"] : [];
  const line = ["run", "--quiet", ...profile, "--package", "nowcast-wire", "--example", "differential"];
  return spawn("cargo", line, { cwd: ROOT });
}

/** Returns the bytes that Rust writes after it decoded these bodies. */
async function throughRust(trips: readonly Trip[]): Promise<string[]> {
  const rust = startRust();
  const answers: Buffer[] = [];
  const complaints: Buffer[] = [];
  rust.stdout.on("data", (chunk: Buffer) => answers.push(chunk));
  rust.stderr.on("data", (chunk: Buffer) => complaints.push(chunk));
  rust.stdin.end(trips.map(({ schema, body }) => `${schema} ${body}\n`).join(""));
  const [code] = (await once(rust, "close")) as [number];
  if (code !== 0)
    throw new Error(`the Rust side ended with ${code}: ${Buffer.concat(complaints).toString()}`);
  return Buffer.concat(answers).toString().split("\n").slice(0, -1);
}

it(
  `${VALUES} random values travel between TypeScript and Rust unchanged (seed ${SEED})`,
  { timeout: 1_200_000 },
  async () => {
    const random = new Random(SEED);
    const trips: Trip[] = [];
    while (trips.length < VALUES) {
      const schema = randomSchema(random);
      const writer = new BodyWriter(schema);
      const schemaHex = hex(encodeWireSchema(schema));
      for (let i = 0; i < VALUES_PER_SHAPE; i++) {
        const value = randomValue(schema.root, schema, random);
        trips.push({ schema: schemaHex, body: hex(writer.write(value)), value });
      }
    }
    const fromRust = await throughRust(trips);
    const back = trips.map(({ schema: schemaHex, value }, i): Trip => {
      expect(fromRust[i], `value ${i}, shape ${schemaHex}, body ${trips[i]!.body}`).not.toMatch(/^error/);
      const schema = decodeWireSchema(bytes(schemaHex));
      const read = new BodyReader(schema).read(bytes(fromRust[i]!));
      expect(
        read,
        `value ${i}, shape ${schemaHex}, body ${trips[i]!.body}, from Rust ${fromRust[i]}`,
      ).toEqual(value);
      return { schema: schemaHex, body: hex(new BodyWriter(schema).write(read)), value: read };
    });
    // These bodies from Rust were decoded and encoded again in TypeScript. Rust must then write its original bytes.
    const again = await throughRust(back);
    for (let i = 0; i < again.length; i++) expect(again[i]).toBe(fromRust[i]);
  },
);
