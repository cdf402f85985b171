import { describe, expect, it } from "vitest";
import { BodyReader } from "../../src/codec/body.js";
import type { WireValue } from "../../src/codec/value.js";
import { wireSchemaHash } from "../../src/codec/wire-schema.js";
import { decodeWireSchema, encodeWireSchema } from "../../src/codec/wire-schema-bytes.js";
import { BodyWriter } from "../../src/codec/write.js";
import { WireError } from "../../src/errors/nowcast-error.js";
import { NowcastError } from "../../src/index.js";
import { Random, randomSchema, randomValue } from "./random-wire.js";

const SEEDS = Array.from({ length: 300 }, (_, seed) => seed);

describe("values of any shape", () => {
  it.each(SEEDS)("come back as they were (seed %i)", (seed) => {
    const random = new Random(seed);
    const schema = randomSchema(random);
    expect(decodeWireSchema(encodeWireSchema(schema))).toEqual(schema);
    const writer = new BodyWriter(schema);
    const reader = new BodyReader(schema);
    const resolving = new BodyReader(schema, schema);
    for (let i = 0; i < 20; i++) {
      const value = randomValue(schema.root, schema, random);
      const body = writer.write(value);
      expect(reader.read(body)).toEqual(value);
      expect(resolving.read(body)).toEqual(value);
    }
  });

  it.each(SEEDS)("are refused with a named error when bytes are missing or flipped (seed %i)", (seed) => {
    const random = new Random(seed);
    const schema = randomSchema(random);
    const body = new BodyWriter(schema).write(randomValue(schema.root, schema, random));
    const reader = new BodyReader(schema);
    const attempt = (bytes: Uint8Array): void => {
      try {
        reader.read(bytes);
      } catch (error) {
        if (!(error instanceof WireError)) throw error;
        expect(error.offset).toBeLessThanOrEqual(bytes.length);
      }
    };
    for (let cut = 0; cut < Math.min(body.length, 100); cut++) attempt(body.subarray(0, cut));
    for (let flips = 0; flips < 50 && body.length > 0; flips++) {
      const damaged = body.slice();
      damaged[random.below(body.length)]! ^= 1 << random.below(8);
      attempt(damaged);
    }
  });
});

describe("the smallest messages", () => {
  const schema = decodeWireSchema(
    encodeWireSchema({
      root: { tag: "ref", index: 0 },
      definitions: [
        {
          tag: "struct",
          name: "Small",
          fields: [
            { name: "text", type: { tag: "text" }, default: undefined },
            { name: "num", type: { tag: "u8" }, default: undefined },
          ],
        },
      ],
    }),
  );

  it("take the bytes of the specification's example", () => {
    const body = new BodyWriter(schema).write({ text: "Hello World!", num: 123 });
    expect(Buffer.from(body).toString("latin1")).toBe("{Hello World!");
    expect(new BodyReader(schema).read(body)).toEqual({ text: "Hello World!", num: 123 });
  });

  it("name the field that does not fit", () => {
    const writer = new BodyWriter(schema);
    expect(() => writer.write({ text: "", num: 300 })).toThrow("num: 300 does not fit u8");
    expect(() => writer.write({ num: 3 } as WireValue)).toThrow("text: nothing where text is wanted");
    expect(() => writer.write({ text: 1, num: 3 })).toThrow(NowcastError);
    expect(Buffer.from(writer.write({ text: "", num: 3 })).toString("hex")).toBe("03");
  });

  it("have a hash that names their shape", () => {
    expect(wireSchemaHash(new Uint8Array(0))).toBe("cbf29ce484222325");
    expect(wireSchemaHash(new TextEncoder().encode("a"))).toBe("af63dc4c8601ec8c");
  });
});
