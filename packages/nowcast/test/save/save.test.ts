import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { WireValue } from "../../src/codec/index.js";
import { BodyWriter } from "../../src/codec/write.js";
import { NowcastError } from "../../src/index.js";
import { readSave, writeSave } from "../../src/save/index.js";
import { decodeLz4Block, encodeLz4Block } from "../../src/save/lz4.js";
import { Random, randomSchema, randomValue } from "../codec/random-wire.js";

const KEPT = new URL("../../../../crates/wire/testdata/saves/", import.meta.url);
const VECTORS = new URL("../../../../spec/vectors/wire/saves-typescript.json", import.meta.url);

/** The contents of every stored file, equal to those in the Rust test of these files. */
function game(): WireValue {
  const kinds = (i: number): WireValue =>
    i % 3 === 0
      ? "Rock"
      : i % 3 === 1
        ? { Npc: { faction: "town", mood: i === 0 ? 0 : -i } }
        : { Door: i % 2 === 0 };
  const entity = (i: number): WireValue => ({
    id: 1000 + i,
    kind: kinds(i),
    rotation: [0, 0, 0, 1],
    tags: Array.from({ length: i % 3 }, (_, tag) => `tag ${tag}`),
  });
  const scene = (_: unknown, i: number): WireValue => ({
    name: `Village ${i}`,
    visited: i === 1,
    entities: Array.from({ length: 9 + i }, (_, at) => entity(at)),
  });
  return {
    version: 7,
    time: 123_456.789,
    hero: { name: "Aveline Größe", position: [1.5, 0, -3.25], health: 87.5 },
    scenes: Array.from({ length: 4 }, scene),
    flags: new Map(Array.from({ length: 20 }, (_, i) => [`flag_killed_${i}`, i * 977])),
  };
}

describe("kept save files", () => {
  const files = readdirSync(KEPT).filter((name) => name.endsWith(".ncs"));

  it("of some release are there", () => {
    expect(files.length).toBeGreaterThan(0);
  });

  it("have rows of the type that the program names", () => {
    const [row] = readSave<{ readonly version: number }>(readFileSync(new URL(files[0]!, KEPT))).values;
    expect(row!.version).toBe(7);
  });

  it.each(files)("%s is read", (name) => {
    expect(readSave(readFileSync(new URL(name, KEPT))).values).toEqual([game()]);
  });
});

describe("written save files", () => {
  it("read a hole of a list as null", () => {
    // biome-ignore lint/suspicious/noSparseArray: a hole is what is tested.
    const holes = [1, , 3] as WireValue;
    const values = [holes, { list: holes, empty: new Array(2) }] as readonly WireValue[];
    for (const value of values) {
      expect(readSave(writeSave([value])).values).toEqual([JSON.parse(JSON.stringify(value))]);
    }
  });

  it("refuse values that they would lose, by name, and keep maps", () => {
    for (const lost of [new Date(), new Set([1])]) {
      const name = lost.constructor.name;
      expect(() => writeSave([{ lost } as never])).toThrow(name);
      expect(() => writeSave([{ lost: { a: 1 } }, { lost } as never])).toThrow(name);
      expect(() => writeSave([new Map([["lost", lost]]) as never])).toThrow(name);
    }
    const map = new Map([["a", 1]]);
    expect(readSave(writeSave([{ map, text: "\ud800" }])).values).toEqual([{ map, text: "\ufffd" }]);
  });

  it("hold the values that were written", () => {
    const random = new Random(11);
    for (let round = 0; round < 60; round++) {
      const schema = randomSchema(random);
      const values = Array.from({ length: round }, () => randomValue(schema.root, schema, random));
      for (const compression of ["none", "lz4"] as const) {
        const file = writeSave(values, { schema, compression, about: { round } });
        const read = readSave(file);
        expect(read.values).toEqual(values);
        expect(read.about).toEqual([{ round }]);
        expect(new BodyWriter(schema).writeRows(read.values)).toEqual(
          new BodyWriter(schema).writeRows(values),
        );
      }
    }
  });

  it("of one value need a list of one", () => {
    const value = { name: "Ada", level: 3 };
    expect(readSave(writeSave([value])).values).toEqual([value]);
    expect(() => writeSave(value as never)).toThrow(/for one value, pass \[value\]/);
  });

  it("need no shape, and more rows than one chunk takes", () => {
    const values = Array.from({ length: 10_000 }, (_, i) => ({ id: i, name: `entity ${i % 50}`, x: i / 3 }));
    const file = writeSave(values);
    expect(readSave(file).values).toEqual(values);
    expect(file.length).toBeLessThan(writeSave(values, { compression: "none" }).length);
    for (const length of [0, 12, 13, file.length >> 1, file.length - 1]) {
      expect(() => readSave(file.subarray(0, length))).toThrow(NowcastError);
    }
    expect(() => readSave(file.subarray(0, 20))).toThrow(
      /ends inside .* \(byte \d+\): use an undamaged copy/,
    );
  });

  it("equal those of the vectors, which the Rust reader accepts", () => {
    const sets: Readonly<Record<string, WireValue[]>> = {
      "no values": [],
      "one object": [{ name: "Zoë", level: 3, alive: true, x: 0.5, friend: null, items: ["rope", "lamp"] }],
      "rows that repeat": Array.from({ length: 40 }, (_, i) => ({
        id: i,
        kind: `kind ${i % 3}`,
        x: i + 0.25,
      })),
    };
    const made = Object.entries(sets).map(([name, values]) => ({
      name,
      file: Buffer.from(writeSave(values, { about: { program: "test" } })).toString("hex"),
      values,
    }));
    const about = "Save files that the TypeScript writer made, and the values in them.";
    if (process.env["NOWCAST_BLESS"] !== undefined)
      writeFileSync(VECTORS, `${JSON.stringify({ about, cases: made }, undefined, 1)}\n`);
    expect(JSON.parse(readFileSync(VECTORS, "utf8"))).toEqual({ about, cases: made });
  });
});

describe("LZ4 blocks that were written", () => {
  it("are read with their values", () => {
    const random = new Random(5);
    for (let round = 0; round < 400; round++) {
      const alphabet = 1 + random.below(round % 5 === 0 ? 256 : 4);
      const raw = Uint8Array.from({ length: random.below(1200) }, () => random.below(alphabet));
      expect(decodeLz4Block(encodeLz4Block(raw), raw.length)).toEqual(raw);
    }
    const zeros = new Uint8Array(100_000);
    expect(encodeLz4Block(zeros).length).toBeLessThan(500);
    expect(decodeLz4Block(encodeLz4Block(zeros), zeros.length)).toEqual(zeros);
  });
});
