import { Block, type BlockLayout, layoutOf, layoutOfFields } from "./block.js";
import { copyOf } from "./copy-of.js";
import type { WireInput } from "./input.js";
import { readLengths, readNumberColumn, readRaw } from "./number-columns.js";
import { U8, U16 } from "./numbers.js";
import {
  numberReader,
  readAny,
  readBools,
  readChunks,
  readQuats,
  readTexts,
  rowsOf,
  slices,
  sum,
} from "./read-leaves.js";
import { type Converter, convertNumbers, incompatible } from "./resolve.js";
import {
  type Column,
  defaultOf,
  defaultOfField,
  objectOf,
  payloadForm,
  payloadOf,
  type WireValue,
  wrapVariant,
} from "./value.js";
import {
  type Definition,
  type Field,
  isTuple,
  type Variant,
  type WireSchema,
  type WireType,
} from "./wire-schema.js";

/** A plan for reading rows of a writer's type and converting them to the reader's. */
export interface ReadPlan extends BlockLayout {
  readonly read: (input: WireInput, block: Block) => Column;
}

/**
 * Prepares reading of a writer's shape, with conversion to the reader's shape if there is one. It
 * throws if the two shapes contradict each other, before any message is read. A single value that
 * does not fit throws when it is read.
 */
export function planReading(writer: WireSchema, reader?: WireSchema): ReadPlan {
  return new Planner(writer, reader).plan(writer.root, reader?.root, []);
}

/** Reads all rows of a block, which is one level deeper than its parent. */
export function readBlock(plan: ReadPlan, input: WireInput, count: number): Column {
  if (count === 0) return [];
  input.enter();
  const column = plan.read(input, new Block(input, count, plan));
  input.leave();
  return column;
}

class Planner {
  readonly #writer: WireSchema;
  readonly #reader: WireSchema | undefined;
  readonly #plans = new Map<string, ReadPlan>();

  constructor(writer: WireSchema, reader: WireSchema | undefined) {
    this.#writer = writer;
    this.#reader = reader;
  }

  /** `to` is `undefined` if the reader has no type for it: in tools, and for skipped fields. */
  plan(from: WireType, to: WireType | undefined, path: readonly string[]): ReadPlan {
    const layout = layoutOf(from, this.#writer);
    if (to !== undefined) {
      if (to.tag === "option" && from.tag !== "option") return this.plan(from, to.item, path);
      if (from.tag === "option" && to.tag !== "option") {
        if (!STANDS_IN.has(to.tag)) incompatible(from, this.#writer, to, this.#reader!, path);
        return { ...layout, read: this.#option(from.item, to, path, defaultOf(to, this.#reader!)) };
      }
    }
    if (from.tag === "ref") return this.#definition(from.index, to, path);
    return { ...layout, read: this.#leaf(from, to, path) };
  }

  #leaf(from: WireType, to: WireType | undefined, path: readonly string[]): ReadPlan["read"] {
    switch (from.tag) {
      case "unit":
        this.#mustMatch(from, to, path);
        return (_, block) => new Array<null>(block.count).fill(null);
      case "bool":
        this.#mustMatch(from, to, path);
        return readBools;
      case "text":
        this.#mustMatch(from, to, path);
        return readTexts;
      case "bytes":
        this.#mustMatch(from, to, path);
        return (input, block) => readChunks(input, block, copyOf);
      case "any":
        this.#mustMatch(from, to, path);
        return (input, block) => readChunks(input, block, (raw, at) => readAny(input, raw, at));
      case "option":
        return this.#option(from.item, to?.tag === "option" ? to.item : undefined, path, null);
      case "list":
        return this.#list(from.item, to, path);
      case "array":
        return this.#array(from, to, path);
      case "map":
        return this.#map(from, to, path);
      case "quat":
        return this.#quat(from.bits, to, path);
      default:
        return this.#number(from, to, path);
    }
  }

  #mustMatch(from: WireType, to: WireType | undefined, path: readonly string[]): void {
    if (to !== undefined && to.tag !== from.tag) incompatible(from, this.#writer, to, this.#reader!, path);
  }

  #number(from: WireType, to: WireType | undefined, path: readonly string[]): ReadPlan["read"] {
    const convert: Converter | undefined =
      to === undefined ? undefined : convertNumbers(from, this.#writer, to, this.#reader!, path);
    const read = numberReader(from);
    return convert === undefined ? read : (input, block) => convert(input, read(input, block));
  }

  /** `absent` is the value that stands for an absent option. */
  #option(
    item: WireType,
    to: WireType | undefined,
    path: readonly string[],
    absent: WireValue | undefined,
  ): ReadPlan["read"] {
    const plan = this.plan(item, to, path);
    return (input, block) => {
      const present = readBools(input, block);
      let count = 0;
      for (let i = 0; i < block.count; i++) if (present[i]) count++;
      const values = readBlock(plan, input, count);
      const column = new Array<WireValue>(block.count);
      for (let i = 0, next = 0; i < block.count; i++)
        column[i] = present[i] ? values[next++]! : (absent as WireValue);
      return column;
    };
  }

  #list(item: WireType, to: WireType | undefined, path: readonly string[]): ReadPlan["read"] {
    const fits = to?.tag === "list" || to?.tag === "array" ? to : undefined;
    if (to !== undefined && fits === undefined) {
      incompatible({ tag: "list", item }, this.#writer, to, this.#reader!, path);
    }
    const plan = this.plan(item, fits?.item, path);
    const count = fits?.tag === "array" ? fits.count : undefined;
    return (input, block) => {
      const lengths = readLengths(input, block.count);
      if (count !== undefined) {
        for (let i = 0; i < lengths.length; i++) {
          if (lengths[i] !== count) input.fail(`a list of ${lengths[i]} values for an array of ${count}`);
        }
      }
      return slices(readBlock(plan, input, sum(input, lengths)), lengths);
    };
  }

  #array(
    from: WireType & { tag: "array" },
    to: WireType | undefined,
    path: readonly string[],
  ): ReadPlan["read"] {
    const fits = to?.tag === "list" || (to?.tag === "array" && to.count === from.count) ? to : undefined;
    if (to !== undefined && fits === undefined) incompatible(from, this.#writer, to, this.#reader!, path);
    const plan = this.plan(from.item, fits?.item, path);
    return (input, block) => {
      const values = readBlock(plan, input, block.count * from.count);
      return slices(values, new Array<number>(block.count).fill(from.count));
    };
  }

  #map(from: WireType & { tag: "map" }, to: WireType | undefined, path: readonly string[]): ReadPlan["read"] {
    if (to !== undefined && to.tag !== "map") incompatible(from, this.#writer, to, this.#reader!, path);
    const keyPlan = this.plan(from.key, to?.key, path);
    const valuePlan = this.plan(from.value, to?.value, path);
    return (input, block) => {
      const lengths = readLengths(input, block.count);
      const total = sum(input, lengths);
      const keys = readBlock(keyPlan, input, total);
      const values = readBlock(valuePlan, input, total);
      const maps = new Array<WireValue>(block.count);
      for (let row = 0, next = 0; row < block.count; row++) {
        const map = new Map<WireValue, WireValue>();
        for (const end = next + lengths[row]!; next < end; next++) map.set(keys[next]!, values[next]!);
        maps[row] = map;
      }
      return maps;
    };
  }

  #quat(bits: number, to: WireType | undefined, path: readonly string[]): ReadPlan["read"] {
    if (to !== undefined && to.tag !== "quat") {
      incompatible({ tag: "quat", bits }, this.#writer, to, this.#reader!, path);
    }
    return (input, block) => readQuats(input, block, bits);
  }

  #definition(index: number, to: WireType | undefined, path: readonly string[]): ReadPlan {
    const key = `${index}:${to === undefined ? "" : to.tag === "ref" ? to.index : "?"}`;
    const known = this.#plans.get(key);
    if (known !== undefined) return known;
    const from = this.#writer.definitions[index]!;
    const wanted = to?.tag === "ref" ? this.#reader!.definitions[to.index]! : undefined;
    if (to !== undefined && wanted?.tag !== from.tag) {
      incompatible({ tag: "ref", index }, this.#writer, to, this.#reader!, path);
    }
    // A type may contain itself, so the plan is registered before it is complete.
    const plan: Mutable<ReadPlan> = { ...layoutOf({ tag: "ref", index }, this.#writer), read: unplanned };
    this.#plans.set(key, plan);
    plan.read = from.tag === "struct" ? this.#struct(from, wanted, path) : this.#enum(from, wanted, path);
    return plan;
  }

  #struct(
    from: Definition & { tag: "struct" },
    to: Definition | undefined,
    path: readonly string[],
  ): ReadPlan["read"] {
    const target = (to ?? from) as Definition & { tag: "struct" };
    const fields = this.#fields(
      from.fields,
      target.fields,
      { resolves: to !== undefined, named: !isTuple(target) },
      path,
    );
    if (isTuple(target))
      return (input, block) => rowsOf(fields(input, block), block.count, (values) => values);
    const names = target.fields.map((field) => field.name);
    return (input, block) => rowsOf(fields(input, block), block.count, (values) => objectOf(names, values));
  }

  /**
   * Reads the writer's fields in the writer's order, and returns the reader's columns in the
   * reader's order.
   */
  #fields(
    from: readonly Field[],
    to: readonly Field[],
    { resolves, named }: { readonly resolves: boolean; readonly named: boolean },
    path: readonly string[],
  ): (input: WireInput, block: Block) => Column[] {
    const steps = from.map((field) => {
      const target = resolves ? targetOf(field, from, to) : from.indexOf(field);
      const wanted = resolves && target >= 0 ? to[target]!.type : undefined;
      const at = [...path, field.name];
      return {
        name: field.name,
        target,
        plan: named ? this.#field(field.type, wanted, at) : this.plan(field.type, wanted, at),
      };
    });
    const missing = to
      .map((field, target) => ({ field, target }))
      .filter(({ target }) => !steps.some((step) => step.target === target));
    // An infinite default is detected here, not at the first message.
    for (const { field } of missing) defaultOfField(field, this.#reader!);
    return (input, block) => {
      const columns = new Array<Column>(to.length);
      for (const { name, target, plan } of steps) {
        input.path.push(name);
        const column = plan.read(input, block);
        input.path.pop();
        if (target >= 0) columns[target] = column;
      }
      for (const { field, target } of missing) {
        columns[target] = Array.from({ length: block.count }, () => defaultOfField(field, this.#reader!));
      }
      return columns;
    };
  }

  /**
   * If the type of a named field is an option of an option, the field may be left out, which is
   * distinct from nil.
   */
  #field(from: WireType, to: WireType | undefined, path: readonly string[]): ReadPlan {
    const mayBeLeftOut = (type: WireType): boolean => type.tag === "option" && type.item.tag === "option";
    if (from.tag !== "option" || !mayBeLeftOut(from) || (to !== undefined && !mayBeLeftOut(to))) {
      return this.plan(from, to, path);
    }
    const item = to?.tag === "option" ? to.item : undefined;
    return { ...layoutOf(from, this.#writer), read: this.#option(from.item, item, path, undefined) };
  }

  #enum(
    from: Definition & { tag: "enum" },
    to: Definition | undefined,
    path: readonly string[],
  ): ReadPlan["read"] {
    const kind = from.variants.length > 256 ? U16 : U8;
    const variants = from.variants.map((variant) => this.#variant(variant, to, path));
    return (input, block) => {
      const start = input.at;
      const indices = block.isColumnar
        ? readNumberColumn(input, kind, block.count)
        : readRaw(input, kind, block.count);
      const counts = new Map<number, number>();
      for (let i = 0; i < block.count; i++) {
        const index = indices[i] as number;
        if (index >= variants.length) input.fail(`variant ${index} of ${variants.length}`, start);
        counts.set(index, (counts.get(index) ?? 0) + 1);
      }
      const columns = new Map<number, { readonly column: Column; next: number }>();
      for (const index of [...counts.keys()].sort((a, b) => a - b)) {
        columns.set(index, { column: variants[index]!(input, counts.get(index)!), next: 0 });
      }
      return Array.from(indices as ArrayLike<number>, (index) => {
        const rows = columns.get(index)!;
        return rows.column[rows.next++]!;
      });
    };
  }

  /** Reads the payloads of all rows with one variant, and adds the variant's name to them. */
  #variant(
    from: Variant,
    to: Definition | undefined,
    path: readonly string[],
  ): (input: WireInput, count: number) => Column {
    const wanted = to?.tag === "enum" ? to.variants.find((variant) => variant.name === from.name) : undefined;
    const target = wanted ?? from;
    const layout = layoutOfFields(from.fields, this.#writer);
    const inner = payloadForm(from) === "struct" ? [...path, from.name] : path;
    const fields = this.#fields(
      from.fields,
      target.fields,
      { resolves: wanted !== undefined, named: payloadForm(target) === "struct" },
      inner,
    );
    return (input, count) => {
      if (to !== undefined && wanted === undefined)
        input.fail(`the variant "${from.name}", which the reader does not know`);
      input.enter();
      const columns = from.fields.length === 0 ? [] : fields(input, new Block(input, count, layout));
      input.leave();
      return rowsOf(columns, count, (values) => wrapVariant(target, payloadOf(target, values)));
    };
  }
}

/**
 * The value as which an absent option is read if the reader's type is not an option: false, 0 or
 * empty.
 */
const STANDS_IN: ReadonlySet<string> = new Set([
  ...["bool", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "uvar", "ivar", "f32", "f64"],
  ...["text", "range", "angle"],
]);

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

function unplanned(): never {
  throw new Error("a plan was used before it was made");
}

/** The index of the reader's field that has the name of a writer's field now, or had it before; −1 if there is none. */
function targetOf({ name }: Field, from: readonly Field[], to: readonly Field[]): number {
  const index = to.findIndex((wanted) => wanted.name === name);
  if (index >= 0) return index;
  const isHere = (known: string) => from.some((field) => field.name === known);
  return to.findIndex((wanted) => {
    const former = isHere(wanted.name) ? undefined : wanted.was?.find(isHere);
    return former === name;
  });
}
