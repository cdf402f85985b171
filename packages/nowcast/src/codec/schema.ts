/** Types that are described in TypeScript. Their codecs need neither a schema file nor Nowcast's Rust program. */
import { NowcastError } from "../errors/nowcast-error.js";
import { type Codec, defineCodec } from "./codec.js";
import type { MsgpackValue } from "./msgpack-value.js";
import { encodeMsgpack } from "./msgpack-writer.js";
import type { WireValue } from "./value.js";
import type { Definition, Field, ScalarTag, WireSchema, WireType } from "./wire-schema.js";
import { encodeWireSchema } from "./wire-schema-bytes.js";

declare const value: unique symbol;

/** A type with values `T`; created by {@link types}. */
export interface Schema<T> {
  readonly [value]?: T;
  /** Returns the type for a shape. Definitions are added to the shape at their first occurrence. */
  readonly place: (table: DefinitionTable) => WireType;
}

/** A field of a struct with a history; created by `types.field`. */
export interface FieldSchema<T> {
  readonly type: Schema<T>;
  readonly was: readonly string[];
  readonly default: T | undefined;
}

/** The values of a described type. */
export type ValueOf<D> = D extends Schema<infer T> ? T : D extends FieldSchema<infer T> ? T : never;

type Fields = Readonly<Record<string, Schema<unknown> | FieldSchema<unknown>>>;
type StructValue<F extends Fields> = { -readonly [K in keyof F]: ValueOf<F[K]> };
/** The payload of a variant: named fields, one value, or nothing. */
type Payload = Fields | Schema<unknown>;
type EnumValue<V extends Readonly<Record<string, Payload>>> = {
  [K in keyof V]: V[K] extends Schema<infer T>
    ? { [P in K]: T }
    : V[K] extends Fields
      ? keyof V[K] extends never
        ? K
        : { [P in K]: StructValue<V[K]> }
      : never;
}[keyof V];
type TupleValue<T extends readonly Schema<unknown>[]> = { -readonly [K in keyof T]: ValueOf<T[K]> };

/** The definitions of a shape, in the order of a walk from the root (`spec/WIRE.md`, section 3). */
export class DefinitionTable {
  readonly definitions: Definition[] = [];
  readonly #places = new Map<object, number>();

  /** Returns the index of a definition. At the first occurrence, `fill` makes the definition. */
  placeOf(key: object, fill: () => Definition): WireType {
    let index = this.#places.get(key);
    if (index === undefined) {
      index = this.definitions.length;
      this.#places.set(key, index);
      // The index is reserved before the indexes of referenced definitions.
      this.definitions.push({ tag: "struct", name: "", fields: [] });
      this.definitions[index] = fill();
    }
    return { tag: "ref", index };
  }

  fields(fields: Fields): Field[] {
    return Object.entries(fields).map(([name, given]) => {
      const {
        type,
        was,
        default: value,
      } = "type" in (given ?? {}) ? (given as FieldSchema<unknown>) : asField(given);
      if (typeof type?.place === "function") {
        const or = value === undefined ? undefined : encodeMsgpack(value as MsgpackValue);
        return { name, type: type.place(this), default: or, was };
      }
      throw new NowcastError("misuse", `the field "${name}" has no type`, {
        cure: "give it one of `types`, such as types.f32",
      });
    });
  }
}

function asField(type: unknown): FieldSchema<unknown> {
  return { type: type as Schema<unknown>, was: [], default: undefined };
}

function scalar<T>(tag: ScalarTag): Schema<T> {
  return { place: () => ({ tag }) };
}

function isSchema(payload: Payload): payload is Schema<unknown> {
  return typeof (payload as Schema<unknown>).place === "function";
}

/**
 * The types. The values of structs are objects, those of tuples are arrays, and an absent option is
 * `null`. A variant without a payload is its name; a variant with a payload is an object with that
 * name as its only key.
 *
 * ```ts
 * const pose = types.struct("Pose", { at: types.array(3, types.f32), name: types.option(types.text) });
 * const poseCodec = createCodec(pose);
 * poseCodec.encode({ at: [1, 2, 3], name: null });
 * ```
 */
export const types = {
  bool: scalar<boolean>("bool"),
  u8: scalar<number>("u8"),
  u16: scalar<number>("u16"),
  u32: scalar<number>("u32"),
  /** Values above 2^53 − 1 are bigints. */
  u64: scalar<number | bigint>("u64"),
  i8: scalar<number>("i8"),
  i16: scalar<number>("i16"),
  i32: scalar<number>("i32"),
  i64: scalar<number | bigint>("i64"),
  /** A whole number that is mostly small. */
  uvar: scalar<number | bigint>("uvar"),
  ivar: scalar<number | bigint>("ivar"),
  f32: scalar<number>("f32"),
  f64: scalar<number>("f64"),
  text: scalar<string>("text"),
  bytes: scalar<Uint8Array>("bytes"),
  /** Any value of MessagePack. */
  any: scalar<WireValue>("any"),
  unit: scalar<null>("unit"),

  option<T>(item: Schema<T>): Schema<T | null> {
    return { place: (table) => ({ tag: "option", item: item.place(table) }) };
  },
  list<T>(item: Schema<T>): Schema<T[]> {
    return { place: (table) => ({ tag: "list", item: item.place(table) }) };
  },
  /** Exactly `count` values. */
  array<T>(count: number, item: Schema<T>): Schema<T[]> {
    return { place: (table) => ({ tag: "array", count, item: item.place(table) }) };
  },
  map<K, V>(key: Schema<K>, item: Schema<V>): Schema<Map<K, V>> {
    return { place: (table) => ({ tag: "map", key: key.place(table), value: item.place(table) }) };
  },
  /** A number from `low` to `high` in steps. */
  range(low: number, high: number, step: number): Schema<number> {
    return { place: () => ({ tag: "range", low, high, step }) };
  },
  /** A unit quaternion x, y, z, w, of `bits` bits for each component: 4 to 16. */
  quat(bits: number): Schema<[number, number, number, number]> {
    return { place: () => ({ tag: "quat", bits }) };
  },
  /** An angle in radians, of 8 or 16 bits. */
  angle(bits: number): Schema<number> {
    return { place: () => ({ tag: "angle", bits }) };
  },
  /**
   * A field that earlier versions of the type did not have. In their values it is the field that had one of the names
   * `was`, or else `default`. Without `types.field` it is false, 0, empty or absent.
   */
  field<T>(
    type: Schema<T>,
    { was = [], default: value }: { readonly was?: readonly string[]; readonly default?: T },
  ): FieldSchema<T> {
    return { type, was, default: value };
  },
  /** The name is only for people, because structs are matched by the names of their fields. */
  struct<const F extends Fields>(name: string, fields: F): Schema<StructValue<F>> {
    if (name === "") throw new NowcastError("misuse", "a struct needs a name; without one, use a tuple");
    const key = {};
    const fill = (table: DefinitionTable): Definition => ({
      tag: "struct",
      name,
      fields: table.fields(fields),
    });
    return { place: (table) => table.placeOf(key, () => fill(table)) };
  },
  tuple<const T extends readonly Schema<unknown>[]>(...items: T): Schema<TupleValue<T>> {
    const key = {};
    const fields = Object.fromEntries(items.entries());
    const fill = (table: DefinitionTable): Definition => ({
      tag: "struct",
      name: "",
      fields: table.fields(fields),
    });
    return { place: (table) => table.placeOf(key, () => fill(table)) };
  },
  /** Variants with their payloads: fields or one value: `{ Idle: {}, Say: { text: types.text }, Pick: types.u32 }`. */
  enum<const V extends Readonly<Record<string, Payload>>>(name: string, variants: V): Schema<EnumValue<V>> {
    const key = {};
    const fill = (table: DefinitionTable): Definition => ({
      tag: "enum",
      name,
      variants: Object.entries(variants).map(([variant, payload]) => ({
        name: variant,
        fields: table.fields(isSchema(payload) ? { 0: payload } : payload),
      })),
    });
    return { place: (table) => table.placeOf(key, () => fill(table)) };
  },
} as const;

/** Returns a described type's shape, in the form that `spec/WIRE.md` defines. */
export function wireSchemaOf(type: Schema<unknown>): WireSchema {
  const table = new DefinitionTable();
  const root = type.place(table);
  return { root, definitions: table.definitions };
}

/**
 * Returns the codec for a described type. It uses the general reader and writer. Code that `nowcast gen` generates from
 * a schema makes the same bytes faster. Throws a `NowcastError` for a type that `spec/WIRE.md` does not allow.
 */
export function createCodec<T>(type: Schema<T>): Codec<T> {
  const reader = wireSchemaOf(type);
  const bytes = encodeWireSchema(reader);
  const schema = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return defineCodec({ schema, reader });
}
