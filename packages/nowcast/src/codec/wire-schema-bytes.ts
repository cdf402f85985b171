import { NowcastError, WireError } from "../errors/nowcast-error.js";
import { copyOf } from "./copy-of.js";
import { WireInput } from "./input.js";
import { decodeMsgpack } from "./msgpack-reader.js";
import { WireOutput } from "./output.js";
import {
  type Definition,
  type Field,
  isTuple,
  SCALAR_CODES,
  SCHEMA_LIMITS,
  type Variant,
  type WireSchema,
  type WireType,
} from "./wire-schema.js";

const OPTION = 0x18;
const LIST = 0x19;
const ARRAY = 0x1a;
const MAP = 0x1b;
const REF = 0x1c;
const RANGE = 0x20;
const QUAT = 0x21;
const ANGLE = 0x22;
const STRUCT = 0x30;
const ENUM = 0x31;

/** Reads a shape and checks every rule of `spec/WIRE.md`, section 3. */
export function decodeWireSchema(bytes: Uint8Array): WireSchema {
  const input = new WireInput(bytes);
  if (bytes.length > SCHEMA_LIMITS.bytes) input.fail(`a shape of more than ${SCHEMA_LIMITS.bytes} bytes`);
  const root = readType(input, 0);
  const count = input.count("the number of definitions");
  if (count > SCHEMA_LIMITS.definitions) input.fail(`more than ${SCHEMA_LIMITS.definitions} definitions`);
  const definitions: Definition[] = [];
  for (let i = 0; i < count; i++) definitions.push(readDefinition(input));
  input.mustEnd("the shape");
  const schema = { root, definitions };
  checkSchema(schema, input);
  return schema;
}

/**
 * Returns a shape's bytes. The definitions must be in the order of a walk from the root.
 */
export function encodeWireSchema(schema: WireSchema): Uint8Array<ArrayBuffer> {
  const output = new WireOutput();
  writeType(output, schema.root);
  output.varint(schema.definitions.length);
  for (const definition of schema.definitions) {
    output.u8(definition.tag === "struct" ? STRUCT : ENUM);
    writeName(output, definition.name);
    if (definition.tag === "struct") {
      writeFields(output, definition.fields);
    } else {
      output.varint(definition.variants.length);
      for (const variant of definition.variants) {
        writeName(output, variant.name);
        writeFields(output, variant.fields);
      }
    }
  }
  const bytes = output.take();
  // A shape that every reader would refuse must not be written.
  decodeWireSchema(bytes);
  return bytes;
}

function readType(input: WireInput, depth: number): WireType {
  const at = input.at;
  if (depth > SCHEMA_LIMITS.depth) input.fail(`a type of more than ${SCHEMA_LIMITS.depth} levels`);
  const code = input.u8("a type");
  const scalar = SCALAR_CODES.get(code);
  if (scalar !== undefined) return { tag: scalar };
  switch (code) {
    case OPTION:
      return { tag: "option", item: readType(input, depth + 1) };
    case LIST:
      return { tag: "list", item: readType(input, depth + 1) };
    case ARRAY: {
      const count = input.count("the length of an array");
      if (count === 0) input.fail("an array of no values", at);
      return { tag: "array", count, item: readType(input, depth + 1) };
    }
    case MAP: {
      const key = readType(input, depth + 1);
      return { tag: "map", key, value: readType(input, depth + 1) };
    }
    case REF:
      return { tag: "ref", index: input.count("the index of a definition") };
    case RANGE:
      return readRange(input, at);
    case QUAT: {
      const bits = input.u8("the bits of a quaternion");
      if (bits < 4 || bits > 16) input.fail(`a quaternion of ${bits} bits`, at);
      return { tag: "quat", bits };
    }
    case ANGLE: {
      const bits = input.u8("the bits of an angle");
      if (bits !== 8 && bits !== 16) input.fail(`an angle of ${bits} bits`, at);
      return { tag: "angle", bits };
    }
    default:
      return input.fail(`a type of code 0x${code.toString(16)}, which does not exist`, at);
  }
}

function readRange(input: WireInput, at: number): WireType {
  const [low, high, step] = [input.f64("low"), input.f64("high"), input.f64("step")];
  const finite = Number.isFinite(low) && Number.isFinite(high) && Number.isFinite(step);
  const max = rangeMax(low, high, step);
  if (!finite || !(low < high) || !(step > 0) || !(max >= 1 && max <= 0xffff_ffff)) {
    input.fail(`a range from ${low} to ${high} in steps of ${step}`, at);
  }
  return { tag: "range", low, high, step };
}

/** The largest step number of a range: section 6. */
export function rangeMax(low: number, high: number, step: number): number {
  return Math.floor((high - low) / step + 0.5);
}

function readDefinition(input: WireInput): Definition {
  const at = input.at;
  const code = input.u8("a definition");
  if (code !== STRUCT && code !== ENUM) {
    input.fail(`a definition of code 0x${code.toString(16)}, which does not exist`, at);
  }
  const name = readName(input);
  if (code === STRUCT) return { tag: "struct", name, fields: readFields(input) };
  const count = input.count("the number of variants");
  if (count < 1 || count > SCHEMA_LIMITS.variants) input.fail(`an enum of ${count} variants`, at);
  const variants: Variant[] = [];
  for (let i = 0; i < count; i++) variants.push({ name: readName(input), fields: readFields(input) });
  mustDiffer(input, at, variants);
  return { tag: "enum", name, variants };
}

function readFields(input: WireInput): Field[] {
  const at = input.at;
  const count = input.count("the number of fields");
  if (count > SCHEMA_LIMITS.fields) input.fail(`${count} fields, more than ${SCHEMA_LIMITS.fields}`, at);
  const fields: Field[] = [];
  for (let i = 0; i < count; i++) {
    const name = readName(input);
    fields.push({ name, type: readType(input, 0), default: readDefault(input) });
  }
  mustDiffer(input, at, fields);
  return fields;
}

function readName(input: WireInput): string {
  const at = input.at;
  const length = input.count("the length of a name");
  if (length > SCHEMA_LIMITS.nameBytes) input.fail(`a name of ${length} bytes`, at);
  return input.utf8(input.raw(length, "a name"), at);
}

function readDefault(input: WireInput): Field["default"] {
  const length = input.count("the length of a default");
  if (length === 0) return undefined;
  const at = input.at;
  const raw = input.raw(length, "a default");
  try {
    decodeMsgpack(raw);
    return copyOf(raw);
  } catch (error) {
    if (error instanceof WireError) return input.fail(`a default: ${error.detail}`, at + error.offset);
    throw error;
  }
}

function mustDiffer(input: WireInput, at: number, named: readonly { readonly name: string }[]): void {
  const names = new Set<string>();
  for (const { name } of named) {
    if (names.has(name)) input.fail(`two of the name "${name}"`, at);
    names.add(name);
  }
}

/** Checks the rules that need the whole shape: valid references, and structs without infinite recursion. */
function checkSchema(schema: WireSchema, input: WireInput): void {
  const met = new Set<number>();
  const walkType = (type: WireType): void => {
    if (type.tag === "option" || type.tag === "list" || type.tag === "array") walkType(type.item);
    if (type.tag === "map") {
      walkType(type.key);
      walkType(type.value);
    }
    if (type.tag !== "ref") return;
    if (type.index >= schema.definitions.length) input.fail(`a reference to definition ${type.index}`, 0);
    met.add(type.index);
  };
  walkType(schema.root);
  // A set is iterated in insertion order, including entries inserted during the iteration.
  for (const index of met) {
    for (const field of allFields(schema.definitions[index]!)) walkType(field.type);
  }
  for (let index = 0; index < schema.definitions.length; index++) {
    if (!met.has(index)) input.fail(`definition ${index}, to which nothing refers`, 0);
  }
  for (const definition of schema.definitions) {
    if (isTuple(definition) && allFields(definition).some(({ name }, i) => name !== String(i)))
      input.fail("a struct without a name whose fields are not 0, 1, …", 0);
  }
  checkEnds(schema, input);
  checkSizes(schema, input);
}

/**
 * Checks how many leaves each struct and variant has after flattening. Empty structs and units count, too, although
 * they take no bytes. Otherwise a few bytes could describe a value of any size: a chain of structs that each contain
 * the next one twice.
 */
function checkSizes(schema: WireSchema, input: WireInput): void {
  const sizes: (number | undefined)[] = [];
  const sizeOf = (type: WireType): number => {
    if (type.tag !== "ref") return 1;
    const definition = schema.definitions[type.index]!;
    if (definition.tag === "enum") return 1;
    sizes[type.index] ??= Math.max(1, sum(definition.fields));
    return sizes[type.index]!;
  };
  const sum = (fields: readonly Field[]): number => {
    const total = fields.reduce((before, field) => before + sizeOf(field.type), 0);
    if (total > SCHEMA_LIMITS.leaves) input.fail(`a struct with more than ${SCHEMA_LIMITS.leaves} leaves`, 0);
    return total;
  };
  for (const definition of schema.definitions) {
    if (definition.tag === "struct") sum(definition.fields);
    else for (const variant of definition.variants) sum(variant.fields);
  }
}

/**
 * Refuses a struct that contains itself without an option, list, map or variant between, because
 * its values would be infinite.
 */
function checkEnds(schema: WireSchema, input: WireInput): void {
  const states: ("walking" | "fine" | undefined)[] = [];
  const structIn = (type: WireType): number | undefined => {
    let inner = type;
    while (inner.tag === "array") inner = inner.item;
    if (inner.tag !== "ref" || schema.definitions[inner.index]!.tag !== "struct") return undefined;
    return inner.index;
  };
  const walk = (index: number): void => {
    if (states[index] === "fine") return;
    if (states[index] === "walking") input.fail(`definition ${index}, which contains itself without end`, 0);
    states[index] = "walking";
    for (const field of allFields(schema.definitions[index]!)) {
      const next = structIn(field.type);
      if (next !== undefined) walk(next);
    }
    states[index] = "fine";
  };
  schema.definitions.forEach((definition, index) => {
    if (definition.tag === "struct") walk(index);
  });
}

function allFields(definition: Definition): readonly Field[] {
  return definition.tag === "struct"
    ? definition.fields
    : definition.variants.flatMap((variant) => variant.fields);
}

const CODES_OF_SCALARS = new Map([...SCALAR_CODES].map(([code, tag]) => [tag, code]));

function writeType(output: WireOutput, type: WireType): void {
  switch (type.tag) {
    case "option":
    case "list":
      output.u8(type.tag === "option" ? OPTION : LIST);
      return writeType(output, type.item);
    case "array":
      output.u8(ARRAY);
      output.varint(type.count);
      return writeType(output, type.item);
    case "map":
      output.u8(MAP);
      writeType(output, type.key);
      return writeType(output, type.value);
    case "ref":
      output.u8(REF);
      return output.varint(type.index);
    case "range":
      output.u8(RANGE);
      for (const number of [type.low, type.high, type.step]) output.f64(number);
      return;
    case "quat":
    case "angle":
      output.u8(type.tag === "quat" ? QUAT : ANGLE);
      return output.u8(type.bits);
    default:
      output.u8(CODES_OF_SCALARS.get(type.tag)!);
  }
}

function writeFields(output: WireOutput, fields: readonly Field[]): void {
  output.varint(fields.length);
  for (const field of fields) {
    writeName(output, field.name);
    writeType(output, field.type);
    output.varint(field.default?.length ?? 0);
    if (field.default !== undefined) output.raw(field.default);
  }
}

function writeName(output: WireOutput, name: string): void {
  const bytes = new TextEncoder().encode(name);
  if (bytes.length > SCHEMA_LIMITS.nameBytes) {
    throw new NowcastError(
      "misuse",
      `the name "${name.slice(0, 20)}…" is longer than ${SCHEMA_LIMITS.nameBytes} bytes`,
    );
  }
  output.varint(bytes.length);
  output.raw(bytes);
}
