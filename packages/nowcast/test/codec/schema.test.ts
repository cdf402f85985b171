import { describe, expect, it } from "vitest";
import { createCodec, types as t, type ValueOf } from "../../src/codec/index.js";
import { NowcastError } from "../../src/index.js";
import { actionCodec, everythingCodec, frameCodec, partyCodec } from "../generated/messages.js";

const vec3 = t.struct("Vec3", { x: t.f32, y: t.f32, z: t.f32 });
const action = t.enum("Action", {
  Idle: {},
  Say: { text: t.text },
  Walk: { to: vec3, run: t.bool },
  Pick: t.u32,
});
const move = t.struct("Move", {
  id: t.u32,
  position: t.tuple(t.f64, t.f64, t.f64),
  euler: t.tuple(t.u8, t.u8, t.u8),
});
const frame = t.struct("Frame", {
  tick: t.uvar,
  moves: t.list(move),
  note: t.option(t.text),
  tags: t.map(t.text, t.any),
});

describe("a type with a history", () => {
  const before = createCodec(t.struct("Hero", { gold: t.u32, title: t.text, speed: t.f32 }));
  const now = createCodec(
    t.struct("Hero", {
      lives: t.field(t.u8, { default: 3 }),
      coins: t.field(t.u32, { was: ["money", "gold"] }),
      title: t.field(t.text, { was: ["speed"] }),
    }),
  );

  it("reads a renamed field by its former name, and a new field as its default", () => {
    const read = now.reading(before.schema);
    expect(read(before.encode({ gold: 7, title: "Sir", speed: 2 }))).toEqual({
      lives: 3,
      coins: 7,
      title: "Sir",
    });
    const third = createCodec(t.struct("Hero", { money: t.u32, gold: t.u32 }));
    expect(now.reading(third.schema)(third.encode({ money: 5, gold: 9 }))).toMatchObject({ coins: 5 });
  });

  it("keeps its values under the present names only", () => {
    expect(before.reading(now.schema)(now.encode({ lives: 1, coins: 7, title: "Sir" }))).toEqual({
      gold: 0,
      title: "Sir",
      speed: 0,
    });
  });
});

describe("a type described in TypeScript", () => {
  it("has the shape that the generator gives the same type of a schema", () => {
    expect(createCodec(action).hash).toBe(actionCodec.hash);
    expect(createCodec(frame).schemaBytes).toEqual(frameCodec.schemaBytes);
    const everything = t.struct("Everything", {
      at: vec3,
      tool: t.enum("Tool", { Hand: {}, Hammer: {}, Rope: {} }),
      alive: t.bool,
      pair: t.tuple(t.u8, t.i8),
      first: t.text,
      ["__proto__"]: t.u16,
      seen: t.bool,
      last: t.text,
      big: t.u64,
      deep: t.i64,
      euler: t.array(3, t.u8),
      nothing: t.unit,
      count: t.u32,
      offset: t.i16,
    });
    expect(createCodec(everything).schemaBytes).toEqual(everythingCodec.schemaBytes);
    const member = {
      ...{ id: t.u32, name: t.text, at: vec3, x: t.f64, level: t.u8, team: t.u16, score: t.i32, mood: t.i8 },
      ...{ title: t.text, tint: t.array(3, t.u8), turn: t.array(4, t.f32), cell: t.array(2, t.i16) },
    };
    const party = t.struct("Party", { members: t.list(t.struct("Member", member)) });
    expect(createCodec(party).hash).toBe(partyCodec.hash);
  });

  it("gives a typed codec that reads its own output", () => {
    const codec = createCodec(action);
    const values: ValueOf<typeof action>[] = [
      "Idle",
      { Say: { text: "hello" } },
      { Walk: { to: { x: 1, y: 2, z: 3 }, run: true } },
      { Pick: 7 },
    ];
    // @ts-expect-error: there is no such variant
    const wrong: ValueOf<typeof action> = { Jump: {} };
    expect(() => codec.encode(wrong)).toThrow(NowcastError);
    for (const value of values) {
      expect(codec.decode(codec.encode(value))).toEqual(value);
    }
    const body = createCodec(frame).encode({ tick: 7, moves: [], note: null, tags: new Map() });
    expect(frameCodec.decode(body)).toEqual({ tick: 7, moves: [], note: null, tags: new Map() });
  });

  it("is refused where the format has no such type", () => {
    expect(() => createCodec(t.struct("Pose", { at: undefined as never }))).toThrow(
      /the field "at" has no type/,
    );
    expect(() => t.struct("", {})).toThrow(NowcastError);
    expect(() => createCodec(t.array(0, t.u8))).toThrow(NowcastError);
    expect(() => createCodec(t.angle(7))).toThrow(NowcastError);
    expect(() => createCodec(t.enum("None", {}))).toThrow(NowcastError);
  });
});
