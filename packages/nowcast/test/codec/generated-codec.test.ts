import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { BodyReader } from "../../src/codec/body.js";
import type { Codec, WireValue } from "../../src/codec/index.js";
import { BodyWriter } from "../../src/codec/write.js";
import { WireError } from "../../src/errors/nowcast-error.js";
import {
  actionCodec,
  bigCodec,
  type Everything,
  everythingCodec,
  type Frame,
  frameCodec,
  type Member,
  mediumCodec,
  numbersCodec,
  partyCodec,
  smallCodec,
  spotsCodec,
} from "../generated/messages.js";

const EVERYTHING: Everything = {
  at: { x: 0.5, y: -0, z: 1e10 },
  tool: "Rope",
  alive: true,
  pair: [255, -128],
  first: "größer",
  ["__proto__"]: 65_535,
  seen: false,
  last: "als 😀",
  big: 2n ** 64n - 1n,
  deep: -(2 ** 52),
  euler: [1, 2, 3],
  nothing: null,
  count: 4_294_967_295,
  offset: -32_768,
};

/** Checks that generated code agrees with the general reader and writer, in every combination. */
function agree<T>(codec: Codec<T>, value: T): void {
  const reader = new BodyReader(codec.schema);
  const writer = new BodyWriter(codec.schema);
  const body = codec.encode(value);
  expect(Buffer.from(body).toString("hex")).toBe(
    Buffer.from(writer.write(value as WireValue)).toString("hex"),
  );
  expect(codec.decode(body)).toEqual(value);
  expect(reader.read(body)).toEqual(value);
}

/** A row whose integers are spread over `span`. */
function member(i: number, span: number, name: string): Member {
  const wild = (i * 2_654_435_761) % (span + 1);
  return {
    id: wild,
    name: `${name} ${i % 7}`,
    at: { x: i / 2, y: -0, z: 1e10 },
    x: Math.sqrt(i),
    level: wild & 0xff,
    team: 65_535 - (wild & 0xffff),
    score: (wild | 0) ^ -0x8000_0000,
    mood: (i % 256) - 128,
    title: "",
    tint: [i & 0xff, 0, 255],
    turn: [0, 0.5, i, -1],
    cell: [i, 7 - i],
  };
}

describe("generated code", () => {
  it("writes what the general writer writes, and reads it back", () => {
    agree(smallCodec, { text: "Hello World!", num: 123 });
    agree(numbersCodec, { id: 7, x: Math.PI });
    agree(everythingCodec, EVERYTHING);
    agree(everythingCodec, { ...EVERYTHING, first: "a".repeat(300), last: "" });
    agree(everythingCodec, { ...EVERYTHING, first: "", last: "é".repeat(5000), alive: false, seen: true });
  });

  it("writes lists by columns that any reader accepts, and reads the output of any writer", () => {
    const reader = new BodyReader(partyCodec.schema);
    const writer = new BodyWriter(partyCodec.schema);
    const spans = [0, 1, 3, 15, 255, 65_535, 16_777_215, 4_294_967_295];
    for (const span of spans) {
      for (const count of [0, 3, 4, 33, 3000]) {
        for (const name of ["Ada", "Zoë"]) {
          const members = Array.from({ length: count }, (_, i) => member(i, span, name));
          const body = partyCodec.encode({ members });
          expect(reader.read(body)).toEqual({ members });
          expect(partyCodec.decode(body)).toEqual({ members });
          expect(partyCodec.decode(writer.write({ members } as unknown as WireValue))).toEqual({ members });
        }
      }
    }
  });

  it("reads columns of integers that end with the body", () => {
    const reader = new BodyReader(spotsCodec.schema);
    for (const step of [0, 1, 2, 9, 100, 9_000, -1, -7]) {
      for (const count of [4, 5, 8, 33]) {
        const spots = Array.from({ length: count }, (_, i) => ({
          x: i / 2,
          cell: (1000 + i * step + (i % 3)) & 0xffff,
        }));
        const body = spotsCodec.encode({ spots });
        expect(reader.read(body)).toEqual({ spots });
        expect(spotsCodec.decode(body)).toEqual({ spots });
      }
    }
  });

  it("takes more memory for a long list", () => {
    for (const count of [20_000, 40_000]) {
      const members = Array.from({ length: count }, (_, i) => member(i % 30_000, 65_535, "Ada"));
      const body = partyCodec.encode({ members });
      expect(body.length).toBeGreaterThan(1024 * 1024);
      const read = partyCodec.decode(body);
      expect(read.members.length).toBe(count);
      for (const i of [0, 1, count >> 1, count - 1]) expect(read.members[i]).toEqual(members[i]);
      expect(Buffer.compare(partyCodec.encode(read), body)).toBe(0);
      expect(smallCodec.decode(smallCodec.encode({ text: "after", num: 1 }))).toEqual({
        text: "after",
        num: 1,
      });
    }
  });

  it("names place and field of a list that was cut or damaged", () => {
    const body = partyCodec.encode({ members: Array.from({ length: 9 }, (_, i) => member(i, 255, "Ada")) });
    for (let length = 0; length < body.length; length++) {
      expect(() => partyCodec.decode(body.subarray(0, length))).toThrow(WireError);
    }
    const bad = { ...member(1, 1, "Ada"), team: 65_536 };
    expect(() => partyCodec.encode({ members: [bad, bad, bad, bad] })).toThrow("team: 65536 does not fit");
    const short = { ...member(1, 1, "Ada"), cell: [1] as unknown as Member["cell"] };
    expect(() => partyCodec.encode({ members: [short, short, short, short] })).toThrow("cell");
  });

  it("gives the bytes of the vectors for the messages of the article", () => {
    const path = new URL("../../../../spec/vectors/wire/values.json", import.meta.url);
    const { cases } = JSON.parse(readFileSync(path, "utf8")) as {
      cases: { name: string; hash: string; body: string }[];
    };
    for (const [name, codec] of Object.entries({ small: smallCodec, medium: mediumCodec, big: bigCodec })) {
      const vector = cases.find((candidate) => candidate.name === `source 004, ${name}`)!;
      expect(codec.hash).toBe(vector.hash);
      const value = codec.decode(Buffer.from(vector.body, "hex"));
      const written = (codec as Codec<unknown>).encode(value);
      expect(Buffer.from(written).toString("hex")).toBe(vector.body);
    }
    expect([smallCodec, mediumCodec, bigCodec].map((codec) => codec.schema.definitions[0]!.name)).toEqual([
      "Small",
      "Medium",
      "Big",
    ]);
  });

  it("leaves types of no fixed layout to the general reader and writer", () => {
    const frame: Frame = {
      tick: 5,
      moves: Array.from({ length: 10 }, (_, id) => ({ id, position: [id / 2, 1, -id], euler: [id, 0, 255] })),
      note: null,
      tags: new Map<string, WireValue>([["any", [1, "two", null]]]),
    };
    agree(frameCodec, frame);
    agree(frameCodec, { ...frame, moves: [], note: "hello" });
    for (const action of [
      "Idle",
      { Say: { text: "hi" } },
      { Walk: { to: { x: 1, y: 2, z: 3 }, run: true } },
      { Pick: 7 },
    ]) {
      agree(actionCodec, action as Parameters<typeof actionCodec.encode>[0]);
    }
  });

  it("keeps earlier bodies when it writes later ones", () => {
    const bodies = Array.from({ length: 5000 }, (_, i) =>
      smallCodec.encode({ text: `message ${i}`, num: i & 255 }),
    );
    bodies.forEach((body, i) => {
      expect(smallCodec.decode(body)).toEqual({ text: `message ${i}`, num: i & 255 });
    });
  });

  it("names the field of a value that does not fit, and the byte of a body that is damaged", () => {
    expect(() => smallCodec.encode({ text: "", num: 300 })).toThrow("num: 300 does not fit");
    expect(() => smallCodec.encode({ text: "", num: 0.5 })).toThrow("num: 0.5 does not fit");
    expect(() => everythingCodec.encode({ ...EVERYTHING, tool: "Saw" as "Rope" })).toThrow(
      "tool: Saw does not fit",
    );
    expect(() => smallCodec.decode(new Uint8Array(0))).toThrow("(byte 0)");
    expect(() => smallCodec.decode(Uint8Array.from([1, 0xff]))).toThrow("not UTF-8");
    expect(() => numbersCodec.decode(new Uint8Array(13))).toThrow("1 bytes left over");
    const damaged = everythingCodec.encode(EVERYTHING).slice();
    damaged[0] = 0xff;
    expect(() => everythingCodec.decode(damaged)).toThrow("unused bits");
  });

  it("reads values written by other versions of a type", () => {
    const read = smallCodec.reading(mediumCodec.schema);
    const body = mediumCodec.encode({ text: "a", text2: "b", num: 200, decimal: 0.5 });
    expect(read(body)).toEqual({ text: "a", num: 200 });
  });
});
