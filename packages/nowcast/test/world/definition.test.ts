import { describe, expect, it } from "vitest";
import { type Schema, types } from "../../src/codec/index.js";
import { wireSchemaOf } from "../../src/codec/schema.js";
import { encodeWireSchema } from "../../src/codec/wire-schema-bytes.js";
import { NowcastError } from "../../src/index.js";
import { typeText, WorldReader } from "../../src/world/session/definition.js";
import type { Definition } from "../../src/world/session/generated/messages.js";
import { fields, kind, values } from "./server-words.js";

const ASSET = { name: "assets/a.glb", hash: "0f".repeat(32), bytes: 7, type: "model/gltf-binary" };
const EMPTY: Definition = { version: 1, kinds: [], actions: [], events: [], assets: [] };

function text(type: Schema<unknown>): string {
  const shape = wireSchemaOf(type);
  return typeText(shape.root, shape);
}

const State = types.enum("State", { Idle: {}, Says: types.text });
const Point = types.struct("Point", { x: types.f32, y: types.f32 });

describe("types in words", () => {
  it.each<[Schema<unknown>, string]>([
    [types.f32, "f32"],
    [types.option(types.u32), "u32?"],
    [types.list(types.text), "[text]"],
    [types.array(3, types.f32), "[f32; 3]"],
    [types.map(types.text, types.list(types.any)), "{text: [any]}"],
    [types.range(0, 1, 0.01), "range(0, 1, 0.01)"],
    [types.quat(10), "quat(10)"],
    [types.angle(16), "angle(16)"],
    [types.tuple(types.u8, types.bool), "(u8, bool)"],
    [types.tuple(Point, types.list(State)), "(Point, [State])"],
  ])("are written as schemas write them: %#", (type, expected) => {
    expect(text(type)).toBe(expected);
  });

  it("stay short if a short shape describes a very long type", () => {
    let type: Schema<unknown> = types.u8;
    for (let level = 0; level < 200; level++) type = types.tuple(type, type);
    const written = text(type);
    expect(written.length).toBe(256);
    expect(written.endsWith("…")).toBe(true);
  });
});

describe("a definition", () => {
  it("reads attributes by the number of a kind", () => {
    const named = { hot: types.bool, at: types.option(types.array(3, types.f32)) };
    const reader = new WorldReader({ ...EMPTY, kinds: [kind("cold", {}), kind("stove", named)] });
    const body = values(named, { hot: true, at: [1, 2, 3] });
    expect(reader.read(1, body)).toEqual({
      kind: reader.definition.kinds[1],
      attributes: { hot: true, at: [1, 2, 3] },
    });
    expect(reader.read(0, new Uint8Array(0)).attributes).toEqual({});
    expect(() => reader.read(2, body)).toThrow(NowcastError);
    for (let length = 0; length < body.length; length++) {
      expect(() => reader.read(1, body.subarray(0, length)), `${length} bytes`).toThrow(NowcastError);
    }
  });

  it.each<[string, Partial<Definition>, string]>([
    ["a body that is a list", { kinds: [kind("x", {}, { body: [1] })] }, 'kind "x".body'],
    ["a walker that is text", { kinds: [kind("x", {}, { walker: "fast" })] }, 'kind "x".walker'],
    ["two kinds of one name", { kinds: [kind("x", {}), kind("x", {})] }, "two have one name"],
    [
      "attributes that are a number",
      { kinds: [{ ...kind("x", {}), attributes: encodeWireSchema(wireSchemaOf(types.u8)) }] },
      "not a struct",
    ],
    [
      "arguments without a shape",
      { actions: [{ name: "go", arguments: new Uint8Array(0), hint: null }] },
      "go",
    ],
    ["a payload with bytes left over", { events: [{ name: "hi", payload: leftOver() }] }, 'event "hi"'],
    [
      "too many actions",
      { actions: Array(257).fill({ name: "go", arguments: fields({}), hint: null }) },
      "257 actions, more than 256",
    ],
    ["too many assets", { assets: Array(257).fill(ASSET) }, "257 assets"],
    [
      "a hash that is an address",
      { assets: [{ ...ASSET, hash: "../x".padEnd(64, "0") }] },
      "assets[0]: hash",
    ],
    ["an asset that is too large", { assets: [{ ...ASSET, bytes: 2 ** 24 + 1 }] }, "assets[0]: bytes"],
    ["an asset that names a page's markup", { assets: [{ ...ASSET, type: "<b>" }] }, "assets[0]: type"],
    ["too many events", { events: Array(257).fill({ name: "hi", payload: fields({}) }) }, "257 events"],
  ])("is refused with %s", (_, part, cause) => {
    expect(() => new WorldReader({ ...EMPTY, ...part })).toThrow(cause);
    expect(() => new WorldReader({ ...EMPTY, ...part })).toThrow(NowcastError);
  });
});

function leftOver(): Uint8Array {
  return Uint8Array.of(...fields({}), 0);
}
