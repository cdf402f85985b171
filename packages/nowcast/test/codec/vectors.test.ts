import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { BodyReader } from "../../src/codec/body.js";
import {
  decodeMsgpack,
  encodeMsgpack,
  MsgpackExtension,
  MsgpackTimestamp,
  type MsgpackValue,
} from "../../src/codec/index.js";
import { ScopeReader } from "../../src/codec/scope.js";
import { objectOf, type WireValue } from "../../src/codec/value.js";
import { wireSchemaHash } from "../../src/codec/wire-schema.js";
import { decodeWireSchema, encodeWireSchema } from "../../src/codec/wire-schema-bytes.js";
import { BodyWriter } from "../../src/codec/write.js";
import { NowcastError } from "../../src/index.js";
import { readSave } from "../../src/save/index.js";

interface Case {
  readonly name: string;
  readonly shape: string;
  readonly hash: string;
  readonly body: string;
  readonly value: unknown;
  readonly canonical?: boolean;
  readonly messages: readonly string[];
  readonly values: readonly unknown[];
  readonly forms: readonly string[];
  readonly file: string;
  readonly writer: string;
  readonly reader: string;
  readonly error?: string;
}

function cases(file: string): Case[] {
  const path = new URL(`../../../../spec/vectors/wire/${file}`, import.meta.url);
  // A missing file must be an error, because an empty list of cases would pass.
  if (!existsSync(path)) throw new Error(`${path.pathname} is missing`);
  return (JSON.parse(readFileSync(path, "utf8")) as { cases: Case[] }).cases;
}

function bytes(hex: string): Uint8Array {
  return Uint8Array.from(Buffer.from(hex, "hex"));
}

/** Converts the tags of `spec/WIRE.md`, section 12, to their values. */
function untag(json: unknown): WireValue {
  if (Array.isArray(json)) return json.map(untag);
  if (typeof json !== "object" || json === null) return json as WireValue;
  const entries = Object.entries(json);
  const [tag, inner] = entries[0] ?? ["", undefined];
  if (entries.length === 1 && tag.startsWith("$")) return tagged(tag, inner);
  return objectOf(
    entries.map(([key]) => key),
    entries.map(([, value]) => untag(value)),
  );
}

function tagged(tag: string, inner: unknown): WireValue {
  switch (tag) {
    case "$u64":
    case "$i64":
      return BigInt(inner as string);
    case "$f32":
      return Buffer.from(inner as string, "hex").readFloatBE();
    case "$f64":
      return Buffer.from(inner as string, "hex").readDoubleBE();
    case "$bytes":
      return bytes(inner as string);
    case "$map":
      return new Map((inner as [unknown, unknown][]).map(([key, value]) => [untag(key), untag(value)]));
    case "$ext": {
      const [type, data] = inner as [number, string];
      return new MsgpackExtension(type, bytes(data));
    }
    case "$time": {
      const [seconds, nanoseconds] = inner as [number | string, number];
      return new MsgpackTimestamp(BigInt(seconds), nanoseconds);
    }
    default:
      throw new Error(`the vectors have a tag "${tag}" that this test does not know`);
  }
}

function isFloat(value: unknown): boolean {
  if (typeof value === "number") return !Number.isInteger(value);
  return typeof value === "object" && value !== null && ("$f32" in value || "$f64" in value);
}

function hasKeyTwice(value: unknown): boolean {
  if (typeof value !== "object" || value === null || !("$map" in value)) return false;
  const keys = (value.$map as [unknown, unknown][]).map(([key]) => key);
  return new Set(keys).size < keys.length;
}

/**
 * Compares maps and objects as equal, because a reader may decode a MessagePack map with text keys to either.
 */
function plain(value: unknown): unknown {
  if (value instanceof Map) return plainMap([...value]);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  if (value instanceof MsgpackExtension || value instanceof MsgpackTimestamp) return value;
  return plainMap(Object.entries(value));
}

function plainMap(entries: readonly (readonly [unknown, unknown])[]): Map<unknown, unknown> {
  return new Map(entries.map(([key, value]) => [plain(key), plain(value)]));
}

function same(actual: unknown, expected: unknown): void {
  expect(plain(actual)).toEqual(plain(expected));
}

describe("vectors: MessagePack", () => {
  it.each(cases("msgpack-suite.json"))("$name", ({ value, forms }) => {
    for (const form of forms) same(decodeMsgpack(bytes(form)), untag(value));
    const written = encodeMsgpack(untag(value) as MsgpackValue);
    same(decodeMsgpack(written), untag(value));
    // JavaScript has one kind of number and one value for each key; all other values have one shortest form.
    if (!isFloat(value) && !hasKeyTwice(value)) expect(Buffer.from(written).toString("hex")).toBe(forms[0]);
  });
});

describe("vectors: values", () => {
  it.each(cases("values.json"))("$name", ({ shape: schemaHex, hash, body, value, canonical }) => {
    const schema = decodeWireSchema(bytes(schemaHex));
    expect(Buffer.from(encodeWireSchema(schema)).toString("hex")).toBe(schemaHex);
    expect(wireSchemaHash(bytes(schemaHex))).toBe(hash);
    const reader = new BodyReader(schema);
    const read = reader.read(bytes(body));
    same(read, untag(value));
    const written = new BodyWriter(schema).write(read);
    same(reader.read(written), untag(value));
    if (canonical === true) expect(Buffer.from(written).toString("hex")).toBe(body);
  });
});

describe("vectors: invalid input that must be refused", () => {
  it.each(cases("invalid.json"))("$name", ({ shape, body }) => {
    expect(() => new BodyReader(decodeWireSchema(bytes(shape))).read(bytes(body ?? ""))).toThrow(
      NowcastError,
    );
  });
});

describe("vectors: messages", () => {
  it.each(cases("messages.json"))("$name", ({ messages, values }) => {
    const reader = new ScopeReader();
    const read = messages.map((message) => reader.read(bytes(message)) ?? null);
    same(read, values.map(untag));
  });
});

describe("vectors: save files", () => {
  it.each([...cases("saves.json"), ...cases("saves-typescript.json")])("$name", ({ file, values }) => {
    same(readSave(bytes(file)).values, values.map(untag));
  });
});

describe("vectors: versions", () => {
  it.each(cases("versions.json"))("$name", ({ writer, reader, body, value, error }) => {
    const read = () =>
      new BodyReader(decodeWireSchema(bytes(writer)), decodeWireSchema(bytes(reader))).read(bytes(body));
    if (error === undefined) same(read(), untag(value));
    else expect(read).toThrow(error === "" ? NowcastError : error);
  });
});
