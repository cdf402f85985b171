import { NowcastError } from "../errors/nowcast-error.js";
import { type BlockLayout, layoutOf, layoutOfFields, PLAIN_ROWS_MAX } from "./block.js";
import { className, holdsNamedValues } from "./msgpack-value.js";
import { encodeMsgpack } from "./msgpack-writer.js";
import { KINDS, type NumberColumn, type NumberKind, U8, U16, U32, unsignedKind } from "./numbers.js";
import { WireOutput } from "./output.js";
import { quantiseAngle, quantiseQuat, quantiseRange, quatWidth, rangeWidth } from "./quantise.js";
import { type Column, payloadForm, type WireValue } from "./value.js";
import {
  type Definition,
  type Field,
  type IntegerTag,
  isFlat,
  isTuple,
  leavesOf,
  type Variant,
  type WireSchema,
  type WireType,
} from "./wire-schema.js";
import { writeNumberColumn, writePacked, writeRaw } from "./write-columns.js";

/** The output of a body: blocks, and the text area that follows them. */
class BodyOutput {
  readonly blocks = new WireOutput();
  readonly texts = new WireOutput();
  readonly path: string[] = [];
  flatTextsLeft = 0;

  fail(detail: string): never {
    const where = this.path.length === 0 ? "the value" : this.path.join(".");
    throw new NowcastError("misuse", `${where}: ${detail}`);
  }
}

/** The bits in front of a plain block, which are filled leaf by leaf. */
interface OpenBlock {
  readonly columnar: boolean;
  nextBit: number;
}

interface WritePlan extends BlockLayout {
  readonly write: (output: BodyOutput, rows: Column, block: OpenBlock) => void;
}

/** Writes bodies of one shape from plain values. */
export class BodyWriter {
  readonly #plan: WritePlan;
  readonly #flat: boolean;
  readonly #flatTexts: number;
  readonly #output = new BodyOutput();
  readonly #whole = new WireOutput();

  constructor(schema: WireSchema) {
    this.#plan = new Planner(schema).plan(schema.root);
    this.#flat = isFlat(schema.root, schema);
    this.#flatTexts = leavesOf(schema.root, schema).filter((leaf) => leaf.tag === "text").length;
  }

  /**
   * Encodes one value. If the shape cannot represent a field, throws a `NowcastError` with the name
   * of the field.
   */
  write(value: WireValue): Uint8Array<ArrayBuffer> {
    this.writeTo(this.#whole, value);
    return this.#whole.take();
  }

  /** Does the same as `write`, but appends the bytes to `target`. */
  writeTo(target: WireOutput, value: WireValue): void {
    this.#block(target, [value], this.#flat);
  }

  /** Encodes any number of values as the raw bytes of a chunk: `spec/WIRE.md`, section 9. */
  writeRows(rows: readonly WireValue[]): Uint8Array<ArrayBuffer> {
    this.#block(this.#whole, rows, false);
    return this.#whole.take();
  }

  #block(target: WireOutput, rows: readonly WireValue[], flat: boolean): void {
    const { blocks, texts, path } = this.#output;
    // Removes the remains of an earlier value that did not fit.
    blocks.at = 0;
    texts.at = 0;
    path.length = 0;
    this.#output.flatTextsLeft = flat ? this.#flatTexts : 0;
    writeBlock(this.#plan, this.#output, rows);
    if (!flat) target.varint(texts.at);
    target.raw(blocks.bytes.subarray(0, blocks.at));
    target.raw(texts.bytes.subarray(0, texts.at));
  }
}

function writeBlock(plan: WritePlan, output: BodyOutput, rows: Column): void {
  if (rows.length === 0) return;
  const columnar = rows.length > PLAIN_ROWS_MAX;
  const bitBytes = columnar ? 0 : Math.ceil((rows.length * plan.bitLeaves) / 8);
  const at = output.blocks.reserveZeros(bitBytes);
  plan.write(output, rows, { columnar, nextBit: at * 8 });
}

class Planner {
  readonly #schema: WireSchema;
  readonly #plans = new Map<number, WritePlan>();

  constructor(schema: WireSchema) {
    this.#schema = schema;
  }

  plan(type: WireType): WritePlan {
    if (type.tag === "ref") return this.#definition(type.index);
    return { ...layoutOf(type, this.#schema), write: this.#leaf(type) };
  }

  #leaf(type: WireType): WritePlan["write"] {
    switch (type.tag) {
      case "unit":
        return () => {};
      case "bool":
        return (output, rows, block) => writeBools(output, mapColumn(output, rows, asBool), block);
      case "text":
        return writeTexts;
      case "bytes":
        return (output, rows) => writeChunks(output, mapColumn(output, rows, asBytes));
      case "any":
        return (output, rows) =>
          writeChunks(
            output,
            Array.from(rows, (value) => encodeMsgpack(value)),
          );
      case "option":
        return this.#option(type.item);
      case "list":
        return this.#list(type.item);
      case "array":
        return this.#array(type.count, type.item);
      case "map":
        return this.#map(type.key, type.value);
      case "quat":
        return (output, rows, block) => writeQuats(output, rows, block, type.bits);
      default:
        return numberWriter(type);
    }
  }

  #option(item: WireType): WritePlan["write"] {
    const plan = this.plan(item);
    return (output, rows, block) => {
      // If the item type is an option itself, null means that the inner option is absent. Only
      // `undefined` then means that this outer option is absent.
      const present = Array.from(
        rows,
        (value) => value !== undefined && (value !== null || item.tag === "option"),
      );
      writeBools(output, present, block);
      writeBlock(
        plan,
        output,
        Array.from(rows).filter((_, i) => present[i]),
      );
    };
  }

  #list(item: WireType): WritePlan["write"] {
    const plan = this.plan(item);
    return (output, rows) => {
      const lists = mapColumn(output, rows, asList);
      writeLengths(output, lists);
      writeBlock(plan, output, concatenate(lists));
    };
  }

  #array(count: number, item: WireType): WritePlan["write"] {
    const plan = this.plan(item);
    return (output, rows) => {
      const lists = mapColumn(output, rows, asList);
      for (const list of lists) {
        if (list.length !== count) output.fail(`${list.length} values for an array of ${count}`);
      }
      writeBlock(plan, output, concatenate(lists));
    };
  }

  #map(key: WireType, value: WireType): WritePlan["write"] {
    const keyPlan = this.plan(key);
    const valuePlan = this.plan(value);
    return (output, rows) => {
      const pairs = mapColumn(output, rows, asPairs);
      writeLengths(output, pairs);
      const all = pairs.flat();
      writeBlock(
        keyPlan,
        output,
        all.map(([entryKey]) => entryKey),
      );
      writeBlock(
        valuePlan,
        output,
        all.map(([, entry]) => entry),
      );
    };
  }

  #definition(index: number): WritePlan {
    const known = this.#plans.get(index);
    if (known !== undefined) return known;
    const definition = this.#schema.definitions[index]!;
    // A type may contain itself, so the plan is registered before it is complete.
    const plan: { -readonly [K in keyof WritePlan]: WritePlan[K] } = {
      ...layoutOf({ tag: "ref", index }, this.#schema),
      write: unplanned,
    };
    this.#plans.set(index, plan);
    plan.write =
      definition.tag === "struct"
        ? this.#fields(definition.fields, isTuple(definition))
        : this.#enum(definition);
    return plan;
  }

  #fields(fields: readonly Field[], isList: boolean): WritePlan["write"] {
    const plans = fields.map((field) => this.plan(field.type));
    return (output, rows, block) => {
      for (let i = 0; i < fields.length; i++) {
        const { name } = fields[i]!;
        output.path.push(name);
        plans[i]!.write(output, mapColumn(output, rows, isList ? itemAt(i) : fieldNamed(name)), block);
        output.path.pop();
      }
    };
  }

  #enum(definition: Definition & { tag: "enum" }): WritePlan["write"] {
    const { variants } = definition;
    const indexOf = new Map(variants.map((variant, index) => [variant.name, index]));
    const kind = variants.length > 256 ? U16 : U8;
    const payloads = variants.map((variant) => this.#payload(variant));
    return (output, rows, block) => {
      const tagged = mapColumn(output, rows, asVariant);
      const indices = tagged.map(
        ([name]) => indexOf.get(name) ?? output.fail(`no variant is called "${name}"`),
      );
      writeNumbers(output, indices, block, kind);
      variants.forEach((variant, index) => {
        const column = tagged.filter((_, i) => indices[i] === index).map(([, payload]) => payload);
        if (variant.fields.length > 0) writeBlock(payloads[index]!, output, column);
      });
    };
  }

  #payload(variant: Variant): WritePlan {
    const form = payloadForm(variant);
    const write = this.#fields(variant.fields, form !== "struct");
    const layout = layoutOfFields(variant.fields, this.#schema);
    if (form !== "alone") return { ...layout, write };
    return {
      ...layout,
      write: (output, rows, block) =>
        write(
          output,
          Array.from(rows, (value) => [value]),
          block,
        ),
    };
  }
}

function unplanned(): never {
  throw new Error("a plan was used before it was made");
}

/** Returns the items of all lists. Unlike `flat`, keeps holes, as `undefined`. */
function concatenate(lists: readonly (readonly WireValue[])[]): WireValue[] {
  const all: WireValue[] = [];
  for (const list of lists) for (const item of list) all.push(item);
  return all;
}

type Take<T> = (value: WireValue | undefined, output: BodyOutput) => T;

function mapColumn<T>(output: BodyOutput, rows: Column, take: Take<T>): T[] {
  return Array.from(rows, (value) => take(value, output));
}

const asBool: Take<boolean> = (value, output) =>
  typeof value === "boolean" ? value : output.fail(`${inWords(value)} where a bool is wanted`);
const asText: Take<string> = (value, output) =>
  typeof value === "string" ? value : output.fail(`${inWords(value)} where text is wanted`);
const asBytes: Take<Uint8Array> = (value, output) =>
  value instanceof Uint8Array ? value : output.fail(`${inWords(value)} where bytes are wanted`);
const asList: Take<readonly WireValue[]> = (value, output) => {
  if (Array.isArray(value)) return value;
  if (ArrayBuffer.isView(value) && !(value instanceof DataView))
    return Array.from(value as unknown as WireValue[]);
  return output.fail(`${inWords(value)} where a list is wanted`);
};
const asPairs: Take<[WireValue, WireValue][]> = (value, output) => {
  if (value instanceof Map) return [...(value as ReadonlyMap<WireValue, WireValue>)];
  if (isRecord(value)) return Object.entries(value) as [string, WireValue][];
  return output.fail(`${inWords(value)} where a map is wanted`);
};
const asVariant: Take<[string, WireValue]> = (value, output) => {
  if (typeof value === "string") return [value, null];
  const entries = isRecord(value) ? Object.entries(value) : [];
  if (entries.length !== 1) return output.fail(`${inWords(value)} where a variant is wanted`);
  return entries[0] as [string, WireValue];
};

function fieldNamed(name: string): Take<WireValue> {
  // If a field is missing, an option is written as absent. Other types throw an error with the name
  // of the field.
  return (value, output) => {
    if (!isRecord(value)) return output.fail(`no field "${name}" in ${inWords(value)}`);
    return (Object.hasOwn(value, name) ? value[name] : undefined) as WireValue;
  };
}

function itemAt(index: number): Take<WireValue> {
  return (value, output) => asList(value, output)[index] as WireValue;
}

function isRecord(value: unknown): value is { readonly [key: string]: WireValue } {
  return typeof value === "object" && value !== null && holdsNamedValues(value);
}

function inWords(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null || typeof value === "boolean" || typeof value === "number") return String(value);
  if (typeof value === "bigint") return `${value}n`;
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? `an object of class ${className(value)}` : `a ${typeof value}`;
}

function writeBools({ blocks }: BodyOutput, values: readonly boolean[], block: OpenBlock): void {
  if (!block.columnar) {
    for (const value of values) {
      const bit = block.nextBit++;
      if (value) blocks.bytes[Math.floor(bit / 8)]! |= 1 << (bit % 8);
    }
    return;
  }
  const set = values.filter(Boolean).length;
  if (set === 0 || set === values.length) return blocks.u8(set === 0 ? 0 : 1);
  blocks.u8(2);
  writePacked(blocks, values.length, 1, (i) => (values[i] ? 1 : 0));
}

function writeTexts(output: BodyOutput, rows: Column, block: OpenBlock): void {
  const lengths = mapColumn(output, rows, (value) => output.texts.text(asText(value, output)));
  if (block.columnar) {
    output.blocks.u8(0);
    writeNumberColumn(output.blocks, U32, lengths);
  } else if (--output.flatTextsLeft !== 0) {
    // The last text of a flat body takes the remaining bytes.
    for (const length of lengths) output.blocks.varint(length);
  }
}

function writeLengths({ blocks }: BodyOutput, rows: readonly { readonly length: number }[]): void {
  const lengths = rows.map((row) => row.length);
  if (lengths.length > PLAIN_ROWS_MAX) writeNumberColumn(blocks, U32, lengths);
  else for (const length of lengths) blocks.varint(length);
}

function writeChunks(output: BodyOutput, chunks: readonly Uint8Array[]): void {
  writeLengths(output, chunks);
  for (const chunk of chunks) output.blocks.raw(chunk);
}

function writeNumbers(
  { blocks }: BodyOutput,
  values: NumberColumn,
  block: OpenBlock,
  kind: NumberKind,
): void {
  if (block.columnar) writeNumberColumn(blocks, kind, values);
  else writeRaw(blocks, kind, values);
}

function numberWriter(type: WireType): WritePlan["write"] {
  switch (type.tag) {
    case "range": {
      const { low, high, step } = type;
      const kind = unsignedKind(rangeWidth(low, high, step));
      return (output, rows, block) => {
        const steps = mapColumn(output, rows, (value) =>
          quantiseRange(asFloat(value, output), low, high, step),
        );
        writeNumbers(output, steps, block, kind);
      };
    }
    case "angle":
      return (output, rows, block) => {
        const steps = mapColumn(output, rows, (value) => quantiseAngle(asFloat(value, output), type.bits));
        writeNumbers(output, steps, block, type.bits === 8 ? U8 : U16);
      };
    case "f32":
    case "f64":
      return (output, rows, block) =>
        writeNumbers(output, mapColumn(output, rows, asFloat), block, KINDS[type.tag as "f64"]);
    case "uvar":
    case "ivar":
      return variableWriter(type.tag === "uvar");
    default: {
      const kind = KINDS[type.tag as IntegerTag];
      return (output, rows, block) => writeNumbers(output, asIntegers(output, rows, kind), block, kind);
    }
  }
}

function variableWriter(unsigned: boolean): WritePlan["write"] {
  const kind = unsigned ? KINDS.uvar : KINDS.ivar;
  return (output, rows, block) => {
    const values = asIntegers(output, rows, kind);
    if (block.columnar) return writeNumberColumn(output.blocks, kind, values);
    for (const value of values) {
      if (unsigned) output.blocks.varint(value);
      else output.blocks.zigzag(value);
    }
  };
}

const asFloat: Take<number> = (value, output) => {
  if (typeof value === "number") return value;
  return output.fail(`${inWords(value)} where a number is wanted`);
};

function asIntegers(output: BodyOutput, rows: Column, kind: NumberKind): (number | bigint)[] {
  return mapColumn(output, rows, (value) => {
    const whole = typeof value === "bigint" || (typeof value === "number" && Number.isSafeInteger(value));
    if (!whole || value < kind.min || value > kind.max)
      return output.fail(`${inWords(value)} does not fit ${kind.name}`);
    return Object.is(value, -0) ? 0 : value;
  });
}

function writeQuats(output: BodyOutput, rows: Column, block: OpenBlock, bits: number): void {
  const quats = mapColumn(output, rows, (value) => {
    const components = asList(value, output);
    if (components.length !== 4) output.fail(`${components.length} components of a quaternion`);
    return quantiseQuat(
      components.map((component) => asFloat(component, output)),
      bits,
    );
  });
  if (block.columnar) {
    for (let part = 0; part < 4; part++) {
      const column = quats.map((quat) => quat[part]!);
      writeNumberColumn(output.blocks, part === 0 ? U8 : U16, column);
    }
    return;
  }
  for (const [index, a, b, c] of quats) {
    const shift = BigInt(bits);
    let packed = BigInt(index) | ((BigInt(a) | ((BigInt(b) | (BigInt(c) << shift)) << shift)) << 2n);
    for (let i = 0; i < quatWidth(bits); i++, packed >>= 8n) output.blocks.u8(Number(packed & 0xffn));
  }
}
