import { KINDS } from "../../src/codec/numbers.js";
import { objectOf, payloadForm, payloadOf, type WireValue, wrapVariant } from "../../src/codec/value.js";
import {
  type Definition,
  type Field,
  INTEGER_TAGS,
  type WireSchema,
  type WireType,
} from "../../src/codec/wire-schema.js";

/** Random numbers that are the same for the same seed. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** 0 to 1, without 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!;
  }
}

const NAMES = ["id", "x", "name", "__proto__", "constructor", "größe", "a b", "0", "health", "toString"];
const TEXTS = ["", "a", "Hello World!", "größer als 😀", "𐀀", "a".repeat(300), "\0", "日本語"];

/** Shapes of every type, some of them recursive. */
export function randomSchema(random: Random): WireSchema {
  const definitions: Definition[] = [];
  const type = (depth: number): WireType => {
    const roll = depth > 3 ? random.below(8) : random.below(14);
    if (roll < 3) return { tag: random.pick(INTEGER_TAGS) };
    if (roll < 8)
      return { tag: random.pick(["bool", "f32", "f64", "text", "bytes", "any", "unit"] as const) };
    if (roll === 8) return quantiser();
    if (roll === 9) return { tag: random.pick(["option", "list"] as const), item: type(depth + 1) };
    if (roll === 10) return { tag: "array", count: 1 + random.below(5), item: type(depth + 1) };
    if (roll === 11)
      return {
        tag: "map",
        key: { tag: random.pick(["text", "u8", "i64"] as const) },
        value: type(depth + 1),
      };
    return reference(depth + 1);
  };
  const quantiser = (): WireType => {
    const roll = random.below(3);
    if (roll === 0) return { tag: "angle", bits: random.pick([8, 16]) };
    if (roll === 1) return { tag: "quat", bits: 4 + random.below(13) };
    return { tag: "range", low: -10, high: 10, step: random.pick([1, 0.01, 0.0001, 1e-7]) };
  };
  const fields = (count: number, depth: number, tuple: boolean): Field[] => {
    const names = new Set<string>();
    while (names.size < count) names.add(tuple ? String(names.size) : random.pick(NAMES));
    return [...names].map((name) => ({ name, type: type(depth), default: undefined }));
  };
  const reference = (depth: number): WireType => {
    if (definitions.length > 0 && random.chance(0.2)) {
      const index = random.below(definitions.length);
      // A type that may contain itself must have finite values.
      return { tag: random.pick(["option", "list"] as const), item: { tag: "ref", index } };
    }
    const index = definitions.length;
    // The index is reserved first, so that inner types may refer to it.
    definitions.push({ tag: "struct", name: "?", fields: [] });
    if (random.chance(0.7)) {
      const tuple = random.chance(0.2);
      const inner = fields(random.below(6), depth, tuple);
      definitions[index] = { tag: "struct", name: tuple ? "" : `S${index}`, fields: inner };
    } else {
      const names = new Set(Array.from({ length: 1 + random.below(5) }, () => random.pick(NAMES)));
      const variants = [...names].map((name) => ({
        name,
        fields: random.chance(0.5) ? [] : fields(random.below(4), depth, random.chance(0.5)),
      }));
      definitions[index] = { tag: "enum", name: `E${index}`, variants };
    }
    return { tag: "ref", index };
  };
  const root = random.chance(0.8) ? reference(0) : type(0);
  return { root, definitions };
}

/** Converts a value to the form in which a reader returns it. */
export function randomValue(type: WireType, schema: WireSchema, random: Random, depth = 0): WireValue {
  const inner = (of: WireType): WireValue => randomValue(of, schema, random, depth + 1);
  const length = (): number => (depth > 4 ? 0 : random.chance(0.1) ? random.below(40) : random.below(6));
  switch (type.tag) {
    case "unit":
      return null;
    case "bool":
      return random.chance(0.5);
    case "f32":
      return Math.fround(randomFloat(random));
    case "f64":
      return randomFloat(random);
    case "text":
      return random.pick(TEXTS);
    case "bytes":
      return Uint8Array.from({ length: length() }, () => random.below(256));
    case "any":
      return random.pick<WireValue>([
        null,
        true,
        5,
        -3.25,
        "any",
        [1, [2]],
        { a: { b: null } },
        new Uint8Array([1]),
      ]);
    case "option": {
      const value = random.chance(0.5) || depth > 5 ? null : inner(type.item);
      return value;
    }
    case "list":
      return Array.from({ length: length() }, () => inner(type.item));
    case "array":
      return Array.from({ length: type.count }, () => inner(type.item));
    case "map":
      return new Map(Array.from({ length: length() }, () => [inner(type.key), inner(type.value)]));
    case "range":
      return type.low + random.below(Math.floor((type.high - type.low) / type.step + 0.5) + 1) * type.step;
    case "angle":
      return (random.below(2 ** type.bits) * Math.PI * 2) / 2 ** type.bits;
    case "quat":
      return [0, 0, 0, 1];
    case "ref": {
      const definition = schema.definitions[type.index]!;
      if (definition.tag === "struct") {
        const values = definition.fields.map((field) => inner(field.type));
        if (definition.name === "") return values;
        return objectOf(
          definition.fields.map((field) => field.name),
          values,
        );
      }
      const variant = random.pick(definition.variants);
      const payload = variant.fields.map((field) => inner(field.type));
      return wrapVariant(variant, payloadForm(variant) === "none" ? null : payloadOf(variant, payload));
    }
    default:
      return randomInteger(type.tag, random);
  }
}

function randomInteger(tag: (typeof INTEGER_TAGS)[number], random: Random): number | bigint {
  const { min, max } = KINDS[tag];
  const roll = random.below(6);
  if (roll === 0) return min;
  if (roll === 1) return max;
  if (roll < 5) return random.below(100) + (min < 0 ? -50 : 0);
  const value = BigInt(min) + ((BigInt(max) - BigInt(min)) * BigInt(random.below(2 ** 30))) / 2n ** 30n;
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

function randomFloat(random: Random): number {
  return random.pick([
    0,
    -0,
    1,
    0.1,
    -1.5,
    1e300,
    5e-324,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    random.next() * 1000,
  ]);
}
