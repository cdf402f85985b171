import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeMsgpack, type MsgpackValue } from "../../src/codec/index.js";
import { NowcastError } from "../../src/index.js";
import { ENCODINGS } from "../../src/world/index.js";
import { PlainDecoder } from "../../src/world/plain/decode.js";
import { AVATAR, DEFINE, PLAYER, SHEEP, WELCOME } from "../scripted-server.js";

const MESSAGES: readonly object[] = [
  WELCOME,
  DEFINE,
  PLAYER,
  { type: "spawn", entities: [SHEEP, AVATAR] },
  { type: "attributes", id: 7, set: { wool: 0.5 } },
  { type: "despawn", ids: [7, 301] },
  { type: "left", id: 5 },
  { type: "screen", place: "score", personal: true, value: [1, { two: 2 }] },
  { type: "event", name: "shorn", payload: { sheep: 7 } },
  { type: "refused", action: "shear", reason: "too far" },
  { type: "report", outcome: "failed", version: 4, text: "world.luau:3: oh" },
  { type: "chat", from: 5, name: "Ada", text: "hello" },
  { type: "missed", lines: 3 },
  {
    type: "move",
    tick: 8,
    entities: [{ id: 7, positionX: 0, positionY: 0, positionZ: 0, eulerX: 0, eulerY: 0, eulerZ: 0 }],
  },
];

/** Returns the message with one value, at any depth, replaced by another value of the message or left out. */
function spoiled(value: unknown, at: number, other: unknown): unknown {
  let left = at;
  const visit = (item: unknown): unknown => {
    if (left-- === 0) return other;
    if (Array.isArray(item)) return item.map(visit);
    if (typeof item !== "object" || item === null) return item;
    return Object.fromEntries(Object.entries(item).map(([key, inner]) => [key, visit(inner)]));
  };
  return visit(value);
}

function readsOrRefuses(decode: () => unknown): void {
  try {
    decode();
  } catch (error) {
    expect(error).toBeInstanceOf(NowcastError);
    expect(["peer-misbehaved", "peer-incompatible"]).toContain((error as NowcastError).fault);
  }
}

describe("messages of a hostile server", () => {
  const strange = fc.oneof(
    fc.anything({ maxDepth: 2 }),
    fc.constantFrom(-1, 1.5, 2 ** 32, "", "__proto__", null, []),
  );

  it("is decoded or rejected by name for any field value", () => {
    fc.assert(
      fc.property(fc.constantFrom(...MESSAGES), fc.nat({ max: 40 }), strange, (message, at, other) => {
        const text = JSON.stringify(spoiled(message, at, other), (_, item) =>
          typeof item === "bigint" ? Number(item) : item,
        );
        readsOrRefuses(() => new PlainDecoder("json").decode(text ?? "null"));
      }),
      { numRuns: 3_000 },
    );
  });

  it("is decoded or rejected by name for any bytes", () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc
        .tuple(
          fc.constantFrom(...MESSAGES),
          fc.nat(),
          fc.nat({ max: 7 }),
          fc.double({ min: 0, max: 1, noNaN: true }),
        )
        .map(([message, at, bit, part]) => {
          const packed = encodeMsgpack(message as MsgpackValue);
          packed[at % packed.length]! ^= 1 << bit;
          return packed.subarray(0, Math.ceil(packed.length * part));
        }),
    );
    fc.assert(
      fc.property(fc.constantFrom(...ENCODINGS), bytes, (encoding, data) => {
        readsOrRefuses(() => new PlainDecoder(encoding).decode(data));
      }),
      { numRuns: 3_000 },
    );
  });

  it("does not reach inherited properties", () => {
    const text =
      '{"type":"spawn","entities":[{"__proto__":{"id":1},"kind":"x","p":[0,0,0],"r":[0,0,0],"attributes":{}}]}';
    expect(() => new PlainDecoder("json").decode(text)).toThrow("spawn.entities[0].id");
    const set = new PlainDecoder("json").decode('{"type":"attributes","id":1,"set":{"__proto__":{"a":1}}}');
    expect(set).toMatchObject({ type: "attributes" });
    expect(({} as Record<string, unknown>)["a"]).toBeUndefined();
  });
});
