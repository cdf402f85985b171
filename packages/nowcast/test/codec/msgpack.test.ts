import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decodeMsgpack,
  encodeMsgpack,
  MsgpackExtension,
  MsgpackTimestamp,
  type MsgpackValue,
} from "../../src/codec/index.js";
import { WireError } from "../../src/errors/nowcast-error.js";

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
}

function bytes(text: string): Uint8Array {
  return Uint8Array.from(text.split(" ").filter(Boolean), (byte) => Number.parseInt(byte, 16));
}

const scalar = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.double(),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
  fc.string({ unit: "grapheme", maxLength: 40 }),
  fc.uint8Array({ maxLength: 40 }),
);
const anyValue = fc.letrec<{ value: MsgpackValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    scalar as fc.Arbitrary<MsgpackValue>,
    fc.array(tie("value"), { maxLength: 20 }),
    fc.dictionary(fc.string({ maxLength: 12 }), tie("value"), { maxKeys: 20, noNullPrototype: true }),
  ),
})).value;

/** The expected value: a bigint that a number can represent exactly is decoded to a number. */
function narrowed(value: MsgpackValue): MsgpackValue {
  if (typeof value === "bigint" && Number.isSafeInteger(Number(value))) return Number(value);
  if (Array.isArray(value)) return value.map(narrowed);
  if (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, narrowed(item as MsgpackValue)]),
    );
  }
  return value;
}

describe("MessagePack", () => {
  it("writes every value in its shortest form", () => {
    const shortest: [MsgpackValue, string][] = [
      [null, "c0"],
      [false, "c2"],
      [true, "c3"],
      [0, "00"],
      [127, "7f"],
      [128, "cc 80"],
      [256, "cd 01 00"],
      [65_536, "ce 00 01 00 00"],
      [2 ** 32, "cf 00 00 00 01 00 00 00 00"],
      [-1, "ff"],
      [-32, "e0"],
      [-33, "d0 df"],
      [-129, "d1 ff 7f"],
      [-32_769, "d2 ff ff 7f ff"],
      [-(2 ** 31) - 1, "d3 ff ff ff ff 7f ff ff ff"],
      [2n ** 64n - 1n, "cf ff ff ff ff ff ff ff ff"],
      [-(2n ** 63n), "d3 80 00 00 00 00 00 00 00"],
      [0.5, "ca 3f 00 00 00"],
      [0.1, "cb 3f b9 99 99 99 99 99 9a"],
      [-0, "cb 80 00 00 00 00 00 00 00"],
      ["", "a0"],
      ["Ä", "a2 c3 84"],
      [new Uint8Array([1, 2]), "c4 02 01 02"],
      [[1, [2]], "92 01 91 02"],
      [{ a: 1 }, "81 a1 61 01"],
      [new Map<MsgpackValue, MsgpackValue>([[1, 2]]), "81 01 02"],
      [new MsgpackExtension(5, new Uint8Array([9])), "d4 05 09"],
      [new MsgpackExtension(5, new Uint8Array([9, 8, 7])), "c7 03 05 09 08 07"],
      [new MsgpackTimestamp(1n, 0), "d6 ff 00 00 00 01"],
      [new MsgpackTimestamp(1n, 1), "d7 ff 00 00 00 04 00 00 00 01"],
      [new MsgpackTimestamp(-1n, 1), "c7 0c ff 00 00 00 01 ff ff ff ff ff ff ff ff"],
    ];
    for (const [value, expected] of shortest) {
      expect(hex(encodeMsgpack(value)), String(value)).toBe(expected);
      expect(decodeMsgpack(bytes(expected))).toStrictEqual(value);
    }
  });

  it("reads the longer forms that other writers choose", () => {
    const longer: [string, MsgpackValue][] = [
      ["cc 01", 1],
      ["cf 00 00 00 00 00 00 00 01", 1],
      ["d3 ff ff ff ff ff ff ff ff", -1],
      ["d9 01 61", "a"],
      ["da 00 01 61", "a"],
      ["db 00 00 00 01 61", "a"],
      ["dc 00 01 01", [1]],
      ["dd 00 00 00 01 01", [1]],
      ["de 00 01 a1 61 01", { a: 1 }],
      ["df 00 00 00 01 a1 61 01", { a: 1 }],
      ["c5 00 01 07", new Uint8Array([7])],
      ["c6 00 00 00 01 07", new Uint8Array([7])],
      ["cb 3f e0 00 00 00 00 00 00", 0.5],
      ["c8 00 01 05 07", new MsgpackExtension(5, new Uint8Array([7]))],
    ];
    for (const [encoded, value] of longer) expect(decodeMsgpack(bytes(encoded))).toStrictEqual(value);
  });

  it("gives back every value it was given", () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        expect(decodeMsgpack(encodeMsgpack(value))).toStrictEqual(narrowed(value));
      }),
    );
  });

  it("copies binary values, even from a Node Buffer, whose slices share its memory", () => {
    const message = Buffer.from([0x92, 0xc4, 2, 1, 2, 0xd5, 7, 3, 4]);
    const value = decodeMsgpack(message);
    message.fill(0);
    expect(value).toEqual([Uint8Array.of(1, 2), new MsgpackExtension(7, Uint8Array.of(3, 4))]);
  });

  it("keeps a key called __proto__ as a key", () => {
    const value = JSON.parse('{"__proto__": {"admin": true}, "constructor": 1}');
    const decoded = decodeMsgpack(encodeMsgpack(value)) as Record<string, unknown>;
    expect(Object.keys(decoded)).toEqual(["__proto__", "constructor"]);
    expect(decoded["admin"]).toBeUndefined();
    expect(Object.getPrototypeOf(decoded)).toBe(Object.prototype);
  });

  it("reports the byte at which a truncated message ends", () => {
    fc.assert(
      fc.property(anyValue, fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), (value, share) => {
        const whole = encodeMsgpack(value);
        const cut = whole.subarray(0, Math.floor(whole.length * share));
        expect(() => decodeMsgpack(cut)).toThrow(WireError);
      }),
    );
  });

  it("answers arbitrary bytes with a value or a WireError only", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => {
        try {
          decodeMsgpack(noise);
        } catch (error) {
          expect(error).toBeInstanceOf(WireError);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it("does not believe a length that the message cannot hold", () => {
    for (const bomb of [
      "dd ff ff ff ff",
      "df ff ff ff ff",
      "db ff ff ff ff",
      "c6 ff ff ff ff",
      "c9 ff ff ff ff 01",
    ]) {
      expect(() => decodeMsgpack(bytes(bomb)), bomb).toThrow(WireError);
    }
  });

  it("refuses 100,000 levels of nesting", () => {
    expect(() => decodeMsgpack(new Uint8Array(100_000).fill(0x91))).toThrow("more than 128 levels");
  });

  it("refuses text that is not UTF-8, also in short strings", () => {
    expect(() => decodeMsgpack(bytes("a1 ff"))).toThrow("not UTF-8");
    expect(() => decodeMsgpack(bytes("a3 ed a0 80"))).toThrow("not UTF-8");
  });

  it("writes a lone surrogate as U+FFFD", () => {
    for (const lone of ["a\ud800b", "\udc00", `${"x".repeat(40)}\ud83d`]) {
      expect(decodeMsgpack(encodeMsgpack([lone, "b"]))).toEqual([
        new TextDecoder().decode(new TextEncoder().encode(lone)),
        "b",
      ]);
    }
  });

  it("refuses objects whose values it would lose, by name", () => {
    for (const [lost, name] of [
      [new Date(), "Date"],
      [new Set([1]), "Set"],
      [/a/, "RegExp"],
      [new WeakMap(), "WeakMap"],
    ] as const) {
      expect(() => encodeMsgpack({ lost } as never)).toThrow(`MessagePack has no ${name}`);
    }
    class Named {
      readonly name = "Ann";
    }
    expect(decodeMsgpack(encodeMsgpack(new Named() as never))).toEqual({ name: "Ann" });
  });

  it("refuses to write a value that contains itself", () => {
    const loop: MsgpackValue[] = [];
    loop.push(loop);
    expect(() => encodeMsgpack(loop)).toThrow("does the value contain itself?");
  });
});
