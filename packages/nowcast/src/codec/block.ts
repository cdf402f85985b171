import type { WireInput } from "./input.js";
import { isStruct, type WireSchema, type WireType } from "./wire-schema.js";

/** Blocks with more rows than this are columnar. */
export const PLAIN_ROWS_MAX = 3;

/** Leaves of a type that matter for the layout of its blocks. */
export interface BlockLayout {
  readonly leaves: number;
  /** Leaves of type bool or option, whose bits precede a plain block. */
  readonly bitLeaves: number;
}

export function layoutOf(type: WireType, schema: WireSchema): BlockLayout {
  const fields = isStruct(type, schema);
  if (fields !== undefined) return layoutOfFields(fields, schema);
  if (type.tag === "unit") return { leaves: 0, bitLeaves: 0 };
  return { leaves: 1, bitLeaves: type.tag === "bool" || type.tag === "option" ? 1 : 0 };
}

export function layoutOfFields(
  fields: readonly { readonly type: WireType }[],
  schema: WireSchema,
): BlockLayout {
  let leaves = 0;
  let bitLeaves = 0;
  for (const field of fields) {
    const inner = layoutOf(field.type, schema);
    leaves += inner.leaves;
    bitLeaves += inner.bitLeaves;
  }
  return { leaves, bitLeaves };
}

/** A block being read: its rows, and the bits before it if it is plain. */
export class Block {
  readonly count: number;
  #bit: number;

  constructor(input: WireInput, count: number, { leaves, bitLeaves }: BlockLayout) {
    this.count = count;
    // Approximate memory of a row in JavaScript, including its construction.
    input.charge(32 + count * Math.max(1, leaves * 8));
    this.#bit = input.at * 8;
    if (this.isColumnar) return;
    const bits = count * bitLeaves;
    const raw = input.raw(Math.ceil(bits / 8), "the bits of a block");
    if (bits % 8 !== 0 && raw[raw.length - 1]! >> (bits % 8) !== 0)
      input.fail("unused bits that are not zero");
  }

  get isColumnar(): boolean {
    return this.count > PLAIN_ROWS_MAX;
  }

  /** The next bit of a plain block. */
  nextBit(input: WireInput): boolean {
    const bit = this.#bit++;
    return ((input.bytes[Math.floor(bit / 8)]! >> (bit % 8)) & 1) !== 0;
  }
}
