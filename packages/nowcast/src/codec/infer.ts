import type { WireValue } from "./value.js";
import type { Definition, WireSchema, WireType } from "./wire-schema.js";

const FIELDS_MAX = 64;
const DEPTH_MAX = 32;

/** The type inferred for a place from its values so far. It is immutable: a wider type replaces it. */
export type Guess =
  /** No value has been seen, as in an empty list. */
  | { readonly tag: "nothing" }
  | { readonly tag: "bool" | "i32" | "i64" | "f64" | "text" | "bytes" | "any" }
  /** A value or `null`. If the field may also be missing, the type is an option of this option. */
  | { readonly tag: "option"; readonly item: Guess; readonly leftOut: boolean }
  | { readonly tag: "list"; readonly item: Guess }
  | { readonly tag: "map"; readonly item: Guess }
  | { readonly tag: "struct"; readonly fields: ReadonlyMap<string, Guess> };

export const NOTHING: Guess = { tag: "nothing" };

const ANY: Guess = { tag: "any" };

/** Returns the guess that covers the values so far and `value`; the same object if nothing changed. */
export function widen(guess: Guess, value: WireValue | undefined, depth = 0): Guess {
  if (guess.tag === "any") return guess;
  if (value === null || value === undefined) return optional(guess, value === undefined);
  if (guess.tag === "option") {
    const item = widen(guess.item, value, depth);
    // The type `any` includes null.
    if (item.tag === "any" && !guess.leftOut) return item;
    return item === guess.item ? guess : { ...guess, item };
  }
  if (depth > DEPTH_MAX) return ANY;
  switch (typeof value) {
    case "boolean":
      return scalar(guess, "bool");
    case "string":
      return scalar(guess, "text");
    case "number":
      return widenNumber(guess, value);
    case "bigint":
      return BigInt.asIntN(64, value) === value ? widenInteger(guess) : ANY;
    default:
      return widenObject(guess, value, depth);
  }
}

/** The shape that covers every value of a guess. */
export function wireSchemaOf(guess: Guess): WireSchema {
  const definitions: Definition[] = [];
  const type = (of: Guess, name: string): WireType => {
    switch (of.tag) {
      case "nothing":
        return { tag: "any" };
      case "option": {
        const option: WireType = { tag: "option", item: type(of.item, name) };
        return of.leftOut ? { tag: "option", item: option } : option;
      }
      case "list":
        return { tag: "list", item: type(of.item, name) };
      case "map":
        return { tag: "map", key: { tag: "text" }, value: type(of.item, name) };
      case "struct": {
        const index = definitions.length;
        // The index is reserved before the fields are visited, because definitions are ordered by their first
        // occurrence.
        definitions.push({ tag: "struct", name, fields: [] });
        const fields = [...of.fields].map(([field, item]) => ({
          name: field,
          type: type(item, field === "" ? "value" : field),
          default: undefined,
        }));
        definitions[index] = { tag: "struct", name, fields };
        return { tag: "ref", index };
      }
      default:
        return { tag: of.tag };
    }
  };
  return { root: type(guess, "value"), definitions };
}

function optional(guess: Guess, leftOut: boolean): Guess {
  if (guess.tag !== "option") return { tag: "option", item: guess, leftOut };
  return guess.leftOut || !leftOut ? guess : { ...guess, leftOut };
}

function scalar(guess: Guess, tag: "bool" | "text" | "bytes"): Guess {
  if (guess.tag === tag) return guess;
  return guess.tag === "nothing" ? { tag } : ANY;
}

function widenNumber(guess: Guess, value: number): Guess {
  if (guess.tag === "f64") return guess;
  // −0 is a whole number, but no integer type can represent it.
  const isI32 = (value | 0) === value && !Object.is(value, -0);
  if (guess.tag === "i32") return isI32 ? guess : { tag: "f64" };
  if (guess.tag === "i64") return Number.isSafeInteger(value) && !Object.is(value, -0) ? guess : ANY;
  if (guess.tag !== "nothing") return ANY;
  return { tag: isI32 ? "i32" : "f64" };
}

function widenInteger(guess: Guess): Guess {
  if (guess.tag === "i64") return guess;
  return guess.tag === "nothing" || guess.tag === "i32" ? { tag: "i64" } : ANY;
}

function widenObject(guess: Guess, value: WireValue & object, depth: number): Guess {
  if (value instanceof Uint8Array) return scalar(guess, "bytes");
  if (Array.isArray(value)) {
    if (guess.tag !== "list" && guess.tag !== "nothing") return ANY;
    return widenItems(guess, "list", value as readonly WireValue[], depth);
  }
  if (value instanceof Map) {
    if (guess.tag !== "map" && guess.tag !== "nothing") return ANY;
    if (![...value.keys()].every((key) => typeof key === "string")) return ANY;
    return widenItems(guess, "map", [...value.values()] as WireValue[], depth);
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  // Timestamps and extensions exist only in MessagePack.
  if (prototype !== Object.prototype && prototype !== null) return ANY;
  return widenStruct(guess, value as { readonly [key: string]: WireValue }, depth);
}

function widenItems(guess: Guess, tag: "list" | "map", items: readonly WireValue[], depth: number): Guess {
  const before = guess.tag === tag ? guess.item : NOTHING;
  let item = before;
  // In a list, nothing can be left out: a hole is null.
  for (const value of items) item = widen(item, value ?? null, depth + 1);
  return guess.tag === tag && item === before ? guess : { tag, item };
}

function widenStruct(guess: Guess, value: { readonly [key: string]: WireValue }, depth: number): Guess {
  const keys = Object.keys(value);
  if (guess.tag === "map") return widenItems(guess, "map", Object.values(value), depth);
  if (guess.tag === "nothing") {
    if (keys.length > FIELDS_MAX) return widenItems(guess, "map", Object.values(value), depth);
    return {
      tag: "struct",
      fields: new Map(keys.map((key) => [key, widen(NOTHING, value[key], depth + 1)])),
    };
  }
  if (guess.tag !== "struct") return ANY;
  let changed: Map<string, Guess> | undefined;
  for (const [key, known] of guess.fields) {
    const wider = widen(known, Object.hasOwn(value, key) ? value[key] : undefined, depth + 1);
    if (wider === known) continue;
    changed ??= new Map(guess.fields);
    changed.set(key, wider);
  }
  for (const key of keys) {
    if (guess.fields.has(key)) continue;
    // A field that was missing in all earlier values becomes an option.
    const wider = widen({ tag: "option", item: NOTHING, leftOut: true }, value[key], depth + 1);
    changed ??= new Map(guess.fields);
    changed.set(key, wider);
  }
  if (changed === undefined) return guess;
  // Objects that share few keys become a map whose values have an unknown type.
  return changed.size > FIELDS_MAX ? { tag: "map", item: ANY } : { tag: "struct", fields: changed };
}
