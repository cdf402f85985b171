import { NowcastError } from "../../errors/nowcast-error.js";
import type { Vec3 } from "../world.js";

/** A decoded JSON or MessagePack map that was not validated yet. */
export type RawObject = { readonly [key: string]: unknown };

/** Makes the error for an invalid field of a server's message. */
export function malformed(path: string, expected: string): NowcastError {
  return new NowcastError("peer-misbehaved", `malformed: ${path} should be ${expected}`);
}

export function readObject(value: unknown, path: string): RawObject {
  if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof Map) {
    throw malformed(path, "an object");
  }
  return value as RawObject;
}

/** Reads an own property; inherited properties were not in the message. */
export function readField(object: RawObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

export function readNumber(value: unknown, path: string): number {
  if (typeof value !== "number" || !Number.isFinite(value)) throw malformed(path, "a finite number");
  return value;
}

export function readFlag(value: unknown, path: string): boolean {
  if (typeof value !== "boolean") throw malformed(path, "true or false");
  return value;
}

export function readTick(value: unknown, path: string): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) {
    throw malformed(path, "an unsigned integer");
  }
  return value;
}

/** Reads an unsigned 32-bit integer: the number of an entity or a player. */
export function readId<Id extends number>(value: unknown, path: string): Id {
  if (typeof value !== "number" || value >>> 0 !== value) {
    throw malformed(path, "an unsigned 32-bit integer");
  }
  return value as Id;
}

/**
 * Reads text of bounded length. The server's own limit for chat is 300 characters; notices may be
 * longer.
 */
export function readText(value: unknown, path: string, lengthMax = 4096): string {
  if (typeof value !== "string") throw malformed(path, "a string");
  if (value.length > lengthMax) throw malformed(path, `a string of at most ${lengthMax} units`);
  return value;
}

export function readVec3(value: unknown, path: string): Vec3 {
  if (!Array.isArray(value) || value.length !== 3) throw malformed(path, "three numbers");
  return [
    readNumber(value[0], `${path}[0]`),
    readNumber(value[1], `${path}[1]`),
    readNumber(value[2], `${path}[2]`),
  ];
}

export function readArray(value: unknown, path: string, lengthMax: number): readonly unknown[] {
  if (!Array.isArray(value)) throw malformed(path, "an array");
  if (value.length > lengthMax) throw malformed(path, `at most ${lengthMax} items`);
  return value;
}
