import type { WireInput } from "./input.js";
import { WireInput as Input } from "./input.js";
import { planReading, type ReadPlan, readBlock } from "./read.js";
import type { Column, WireValue } from "./value.js";
import { isFlat, leavesOf, type WireSchema } from "./wire-schema.js";

export interface ReadOptions {
  /** Maximum bytes that the reader allocates for one body; 64 MiB by default. */
  readonly memoryMax?: number;
}

/** Reads bodies of one shape. The writer's shape is always the same, so fields are matched only once. */
export class BodyReader {
  readonly #plan: ReadPlan;
  readonly #flat: boolean;
  readonly #flatTexts: number;
  readonly #memoryMax: number | undefined;

  /**
   * With a `reader` shape, values are converted to that shape. Without it, they have the writer's
   * shape.
   */
  constructor(writer: WireSchema, reader?: WireSchema, options: ReadOptions = {}) {
    this.#plan = planReading(writer, reader);
    this.#flat = isFlat(writer.root, writer);
    this.#flatTexts = leavesOf(writer.root, writer).filter((leaf) => leaf.tag === "text").length;
    this.#memoryMax = options.memoryMax;
  }

  /** Reads one value: `spec/WIRE.md`, section 4.1. */
  read(body: Uint8Array): WireValue {
    const input = new Input(body, this.#memoryMax);
    if (!this.#flat) return readRows(this.#plan, input, 1)[0]!;
    // The texts of a flat body begin at the end of its block. A first pass over the block finds the end of the block.
    if (this.#flatTexts > 0) {
      const walk = new Input(body, this.#memoryMax);
      walk.beginFlat(this.#flatTexts, undefined);
      readBlock(this.#plan, walk, 1);
      input.beginFlat(this.#flatTexts, walk.at);
    }
    const [value] = readBlock(this.#plan, input, 1) as [WireValue];
    input.mustEnd("the body");
    return value;
  }
}

/**
 * Reads a body that is not flat, with any number of rows: a message's content, or a chunk's in a file.
 */
export function readRows(plan: ReadPlan, input: WireInput, count: number): Column {
  input.openText();
  const rows = readBlock(plan, input, count);
  input.mustEnd("the body");
  return rows;
}
