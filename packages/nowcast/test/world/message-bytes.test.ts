/** The messages that are written out by hand, against the general codec of the same shapes. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Codec } from "../../src/codec/index.js";
import { WireError } from "../../src/index.js";
import {
  controlsCodec,
  type FromWorld,
  fromWorldCodec,
  lineCodec,
  missedCodec,
  saidCodec,
  type ToWorld,
  thingCodec,
  toWorldCodec,
} from "../../src/world/session/generated/messages.js";
import {
  readFromWorld,
  readMissed,
  readSaid,
  readThing,
  writeControls,
  writeLine,
  writeToWorld,
} from "../../src/world/session/message-bytes.js";

const u32 = fc.nat({ max: 0xffff_ffff });
const f32 = fc.float({ noNaN: true });
const text = fc.string({ unit: "grapheme", maxLength: 200 });
const controls = fc.record({ forward: f32, right: f32, yaw: f32, run: fc.boolean(), jump: fc.boolean() });
const toWorld: fc.Arbitrary<ToWorld> = fc.oneof(
  fc.record({ Join: fc.record({ protocol: u32, name: text, network_hz: u32 }) }),
  fc.record({ Grab: fc.record({ block: fc.option(u32) }) }),
  fc.record({ Throw: fc.record({ power: f32, pitch: f32 }) }),
  fc.record({ Rename: fc.record({ name: text }) }),
  fc.record({ Rate: fc.record({ network_hz: u32 }) }),
  fc.constant("Forget" as const),
);
const tick = fc.oneof(
  fc.nat({ max: Number.MAX_SAFE_INTEGER }),
  fc.bigInt(2n ** 53n, 2n ** 64n - 1n) as fc.Arbitrary<number | bigint>,
);
const welcome = fc.record({ protocol: u32, id: u32, room: text, step_hz: u32, network_hz: u32, tick });
const fromWorld: fc.Arbitrary<FromWorld> = fc.oneof(
  fc.record({ Welcome: welcome }),
  fc.record({ Rate: fc.record({ network_hz: u32 }) }),
  fc.record({ Notice: fc.record({ text }) }),
);
const thing = fc.record({
  kind: fc.constantFrom("Static" as const, "Block" as const, "Avatar" as const),
  color: u32,
  size: fc.tuple(f32, f32, f32),
  name: text,
  held: fc.option(u32),
  place: fc.option(
    fc.record({
      position: fc.tuple(f32, f32, f32),
      // Many alike, so that writers choose other codings than the raw one.
      rotation: fc.oneof(
        fc.tuple(f32, f32, f32, f32),
        fc.constant([0, 0, 0, 1] as [number, number, number, number]),
      ),
    }),
  ),
});
const said = fc.record({ from: u32, name: text, text });

function writes<T>(values: fc.Arbitrary<T>, codec: Codec<T>, write: (value: T) => Uint8Array): void {
  fc.assert(
    fc.property(values, (value) => {
      expect(write(value)).toEqual(codec.encode(value));
    }),
  );
}

function reads<T>(values: fc.Arbitrary<T>, codec: Codec<T>, read: (body: Uint8Array) => T): void {
  const cut = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(values, cut, (value, part) => {
      const body = codec.encode(value);
      expect(read(body)).toEqual(codec.decode(body));
      const short = body.subarray(0, Math.floor(body.length * part));
      const outcome = (decode: (bytes: Uint8Array) => T): T | "refused" => {
        try {
          return decode(short);
        } catch (error) {
          expect(error).toBeInstanceOf(WireError);
          return "refused";
        }
      };
      expect(outcome(read)).toEqual(outcome((bytes) => codec.decode(bytes)));
    }),
    { numRuns: 300 },
  );
}

describe("the bytes of a world's messages", () => {
  it("are those that the general codec writes", () => {
    writes(controls, controlsCodec, writeControls);
    writes(fc.record({ text }), lineCodec, writeLine);
    writes(toWorld, toWorldCodec, writeToWorld);
  });

  it("are read as the general codec reads them, and refused where it refuses", () => {
    reads(fromWorld, fromWorldCodec, readFromWorld);
    reads(thing, thingCodec, readThing);
    reads(said, saidCodec, readSaid);
    reads(fc.record({ lines: u32 }), missedCodec, readMissed);
  });

  it("are refused with bits, variants or bytes that no writer has", () => {
    const place = {
      position: [0, 0, 0] as [number, number, number],
      rotation: [0, 0, 0, 1] as [number, number, number, number],
    };
    const body = thingCodec.encode({ kind: "Block", color: 1, size: [1, 1, 1], name: "x", held: 3, place });
    for (let at = 0; at < body.length; at++) {
      for (const flip of [1, 4, 0x80, 0xff]) {
        const other = Uint8Array.from(body);
        other[at]! ^= flip;
        const outcome = (decode: (bytes: Uint8Array) => unknown): unknown => {
          try {
            return decode(other);
          } catch (error) {
            expect(error).toBeInstanceOf(WireError);
            return "refused";
          }
        };
        expect(outcome(readThing)).toEqual(outcome((bytes) => thingCodec.decode(bytes)));
      }
    }
  });
});
