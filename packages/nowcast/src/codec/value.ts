import { NowcastError } from "../errors/nowcast-error.js";
import { decodeMsgpack } from "./msgpack-reader.js";
import type { MsgpackExtension, MsgpackTimestamp, MsgpackValue } from "./msgpack-value.js";
import { describeType, isTuple, type Variant, type WireSchema, type WireType } from "./wire-schema.js";

const DEPTH_MAX = 128;

/**
 * A value without its own type. Structs are objects, tuples arrays, maps `Map`s, and an absent
 * option is `null`. A variant without a payload is its name. A variant with a payload is an object
 * with that name as its only key. Integers beyond ±(2^53 − 1) are bigints.
 */
export type WireValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | MsgpackExtension
  | MsgpackTimestamp
  | readonly WireValue[]
  | ReadonlyMap<WireValue, WireValue>
  | { readonly [key: string]: WireValue | undefined };

/** One value for each row. */
export type Column = ArrayLike<WireValue>;

/** The reader's default for a field that the writer lacks: section 7. Created for every row. */
export function defaultOf(type: WireType, schema: WireSchema, depth = 0): WireValue {
  if (depth > DEPTH_MAX) {
    throw new NowcastError(
      "peer-incompatible",
      `${describeType(type, schema)} has no default: it would have no end`,
    );
  }
  switch (type.tag) {
    case "unit":
    case "option":
    case "any":
      return null;
    case "bool":
      return false;
    case "text":
      return "";
    case "bytes":
      return new Uint8Array(0);
    case "list":
      return [];
    case "map":
      return new Map();
    case "array":
      return Array.from({ length: type.count }, () => defaultOf(type.item, schema, depth + 1));
    case "quat":
      return [0, 0, 0, 1];
    case "range":
      return Math.min(Math.max(0, type.low), type.high);
    case "ref": {
      const definition = schema.definitions[type.index]!;
      if (definition.tag === "enum") {
        const bare = definition.variants.find((variant) => variant.fields.length === 0);
        const variant = bare ?? definition.variants[0]!;
        return wrapVariant(variant, defaultPayload(variant, schema, depth));
      }
      const values = definition.fields.map((field) => defaultOfField(field, schema, depth + 1));
      if (isTuple(definition)) return values;
      return objectOf(
        definition.fields.map((field) => field.name),
        values,
      );
    }
    default:
      return 0;
  }
}

/** The stated default, or the default of the type. */
export function defaultOfField(
  field: { readonly type: WireType; readonly default: Uint8Array | undefined },
  schema: WireSchema,
  depth = 0,
): WireValue {
  if (field.default === undefined) return defaultOf(field.type, schema, depth);
  return fromAny(decodeMsgpack(field.default), field.type, schema);
}

function defaultPayload(variant: Variant, schema: WireSchema, depth: number): WireValue {
  return payloadOf(
    variant,
    variant.fields.map((field) => defaultOfField(field, schema, depth + 1)),
  );
}

/**
 * Converts a stated default. It is MessagePack, in which a struct and a map with text keys have the
 * same form.
 */
function fromAny(value: MsgpackValue, type: WireType, schema: WireSchema): WireValue {
  if (type.tag === "map" && typeof value === "object" && value !== null && !(value instanceof Map)) {
    return new Map(Object.entries(value as { readonly [key: string]: WireValue }));
  }
  if (type.tag === "option") return value === null ? null : fromAny(value, type.item, schema);
  return value;
}

/** Whether a variant's payload is a single value, a list, or a struct. */
export function payloadForm(variant: Variant): "none" | "alone" | "list" | "struct" {
  if (variant.fields.length === 0) return "none";
  if (!variant.fields.every((field, i) => field.name === String(i))) return "struct";
  return variant.fields.length === 1 ? "alone" : "list";
}

/** Makes the payload of a variant from the values of its fields. */
export function payloadOf(variant: Variant, values: readonly WireValue[]): WireValue {
  switch (payloadForm(variant)) {
    case "none":
      return null;
    case "alone":
      return values[0]!;
    case "list":
      return [...values];
    case "struct":
      return objectOf(
        variant.fields.map((field) => field.name),
        values,
      );
  }
}

/** Makes a variant with a payload: an object with the name as its key. */
export function wrapVariant(variant: Variant, payload: WireValue): WireValue {
  return variant.fields.length === 0 ? variant.name : objectOf([variant.name], [payload]);
}

/** Creates an object with these own properties, with any names. Values `undefined` are omitted. */
export function objectOf(
  names: readonly string[],
  values: readonly WireValue[],
): { [key: string]: WireValue } {
  const object: { [key: string]: WireValue } = {};
  for (let i = 0; i < names.length; i++) {
    const name = names[i]!;
    if (values[i] === undefined) continue;
    if (name === "__proto__") {
      const descriptor = { value: values[i], enumerable: true, configurable: true, writable: true };
      Object.defineProperty(object, name, descriptor);
    } else {
      object[name] = values[i]!;
    }
  }
  return object;
}
