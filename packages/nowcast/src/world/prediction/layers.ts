/** Collision layers of kinds (`spec/WORLD.md`, "Definition"). */
import type { Kind } from "../world.js";

const LAYERS_MAX = 16;
const IGNORES_MAX = 0xffff;

/** The collision layer of a kind, and the layers that it ignores: bit n for layer n. */
export interface Layers {
  readonly layer: number;
  readonly ignores: number;
}

/** Kinds without collision layers collide with everything. */
export const DEFAULT_LAYERS: Layers = { layer: 0, ignores: 0 };

/** The layers of a kind. Missing and invalid numbers are 0. */
export function layersOf({ body, walker }: Pick<Kind, "body" | "walker">): Layers {
  const words = walker ?? body;
  if (words === undefined) return DEFAULT_LAYERS;
  return {
    layer: wholeBelow(words["layer"], LAYERS_MAX),
    ignores: wholeBelow(words["ignores"], IGNORES_MAX + 1),
  };
}

/** Whether bodies of two kinds pass through each other. */
export function pass(a: Layers, b: Layers): boolean {
  return ((a.ignores >> b.layer) & 1) === 1 || ((b.ignores >> a.layer) & 1) === 1;
}

function wholeBelow(value: unknown, end: number): number {
  const number = typeof value === "bigint" ? Number(value) : value;
  return typeof number === "number" && Number.isInteger(number) && number >= 0 && number < end ? number : 0;
}
