import { describe, expect, it } from "vitest";
import { BodyReader } from "../../src/codec/body.js";
import { encodeMsgpack, type MsgpackValue } from "../../src/codec/index.js";
import type { WireValue } from "../../src/codec/value.js";
import type { Field, WireSchema, WireType } from "../../src/codec/wire-schema.js";
import { BodyWriter } from "../../src/codec/write.js";
import { NowcastError } from "../../src/index.js";

function struct(
  fields: { readonly [name: string]: WireType },
  defaults: { readonly [name: string]: MsgpackValue } = {},
): WireSchema {
  const list: Field[] = Object.entries(fields).map(([name, type]) => {
    const stated = defaults[name];
    return { name, type, default: stated === undefined ? undefined : encodeMsgpack(stated) };
  });
  return { root: { tag: "ref", index: 0 }, definitions: [{ tag: "struct", name: "Player", fields: list }] };
}

const TEXT: WireType = { tag: "text" };
const OLD = struct({ name: TEXT, level: { tag: "u8" } });
const NOW = struct({ level: { tag: "u32" }, name: TEXT, guild: { tag: "option", item: TEXT } });
const NEXT = struct(
  { guild: { tag: "option", item: TEXT }, gold: { tag: "u64" }, level: { tag: "f64" }, motto: TEXT },
  { gold: 100, motto: "onward" },
);

function carry(writer: WireSchema, reader: WireSchema, value: WireValue): WireValue {
  return new BodyReader(writer, reader).read(new BodyWriter(writer).write(value));
}

describe("three versions of one type", () => {
  const old = { name: "Aveline", level: 23 };
  const now = { level: 70_000, name: "Borin", guild: "Foxes" };
  const next = { guild: null, gold: 5, level: 7, motto: "back" };

  it("read each other", () => {
    expect(carry(OLD, NOW, old)).toEqual({ level: 23, name: "Aveline", guild: null });
    expect(carry(OLD, NEXT, old)).toEqual({ guild: null, gold: 100, level: 23, motto: "onward" });
    expect(carry(NOW, OLD, { ...now, level: 200 })).toEqual({ name: "Borin", level: 200 });
    expect(carry(NOW, NEXT, now)).toEqual({ guild: "Foxes", gold: 100, level: 70_000, motto: "onward" });
  });

  it("name the value that the older one cannot hold", () => {
    expect(() => carry(NOW, OLD, now)).toThrow("level: value 70000 does not fit u8");
  });

  it("say before any message that a type cannot be read", () => {
    expect(() => new BodyReader(NEXT, NOW)).toThrow("level: f64 cannot be read as u32");
    try {
      new BodyReader(struct({ name: { tag: "list", item: TEXT } }), OLD);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(NowcastError);
      expect((error as NowcastError).fault).toBe("peer-incompatible");
      expect((error as Error).message).toBe("name: list of text cannot be read as text");
    }
  });

  it("agree with themselves", () => {
    for (const [schema, value] of [
      [OLD, old],
      [NOW, now],
      [NEXT, next],
    ] as const) {
      expect(carry(schema, schema, value)).toEqual(value);
    }
  });
});

describe("an enum that gained a variant", () => {
  const tool = (
    ...variants: readonly { readonly name: string; readonly fields: readonly Field[] }[]
  ): WireSchema => ({
    root: { tag: "list", item: { tag: "ref", index: 0 } },
    definitions: [{ tag: "enum", name: "Tool", variants }],
  });
  const power: Field = { name: "power", type: { tag: "f32" }, default: undefined };
  const before = tool({ name: "Hand", fields: [] }, { name: "Hammer", fields: [power] });
  const after = tool(
    { name: "Rope", fields: [] },
    { name: "Hammer", fields: [power] },
    { name: "Hand", fields: [] },
  );

  it("is read by field names, in any order", () => {
    const values = ["Hand", { Hammer: { power: 0.5 } }, "Hand", { Hammer: { power: 2 } }, "Hand"];
    expect(carry(before, after, values)).toEqual(values);
    expect(carry(after, before, values)).toEqual(values);
  });

  it("names the variant that the older version does not know", () => {
    expect(() => carry(after, before, ["Rope"])).toThrow(
      'the variant "Rope", which the reader does not know',
    );
  });
});
