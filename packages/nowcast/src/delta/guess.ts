/**
 * Guesses of values by linear motion (`spec/DELTA.md`, sections 3 and 7).
 *
 * This module uses only operations that IEEE 754 defines exactly, in the order of the specification, so all machines
 * round in the same way.
 */
import type { DeltaColumn } from "./frame.js";
import type { DeltaPast, PastRows } from "./past.js";

/** Steps beyond this are jumps, not motion. */
const STEP_MAX = 2 ** 20;
const TICKS_MAX = 255;

/**
 * Guesses a column's value for an entity that is in the newest baseline. The frame's row begins at `start` in `values`,
 * and its earlier columns are known there.
 */
export function guessOf(
  column: number,
  kind: DeltaColumn,
  rows: PastRows,
  past: DeltaPast,
  values: Int32Array,
  start: number,
): number {
  if (kind.kind === "largest") return rows.values[0][rows.at[0] + column]!;
  const largest = kind.kind === "component" ? values[start + kind.first]! : 0;
  const now = valueIn(0, column, kind, rows, largest);
  const step = (now - valueIn(1, column, kind, rows, largest)) | 0;
  return (now + extrapolate(step, past)) | 0;
}

function valueIn(depth: 0 | 1, column: number, kind: DeltaColumn, rows: PastRows, largest: number): number {
  const values = rows.values[depth];
  const at = rows.at[depth];
  if (kind.kind !== "component") return values[at + column]!;
  return inFrameOf(values, at + kind.first, kind.bits, largest, column - kind.first - 1);
}

/** Returns how far a value moves until the frame, rounded, if it moved by `step` between the last two baselines. */
function extrapolate(step: number, { ahead, behind }: DeltaPast): number {
  if (Math.abs(step) > STEP_MAX || behind === 0 || behind > TICKS_MAX || ahead > TICKS_MAX) return 0;
  return Math.floor((2 * step * ahead + behind) / (2 * behind));
}

/** The stored components, for each component that can be left out. */
const OTHERS = [
  [1, 2, 3],
  [0, 2, 3],
  [0, 1, 3],
  [0, 1, 2],
] as const;

/**
 * Returns the rounded stored component `at` of a row's orientation, as if the component `largest` were left out.
 * Components can only be compared if the same component is left out.
 */
function inFrameOf(values: Int32Array, first: number, bits: number, largest: number, at: number): number {
  if (values[first] === largest) return values[first + 1 + at]!;
  const top = (1 << bits) - 1;
  const quaternion = [0, 0, 0, 0];
  let squares = 0;
  OTHERS[values[first]!]!.forEach((index, part) => {
    const component = 2 * values[first + 1 + part]! - top;
    quaternion[index] = component;
    squares += component * component;
  });
  const rest = 2 * top * top - squares;
  quaternion[values[first]!] = rest > 0 ? Math.sqrt(rest) : 0;
  const value = quaternion[OTHERS[largest]![at]!]!;
  // A quaternion and its negative are the same orientation. The sign is chosen so that the omitted
  // component is positive.
  return Math.floor(((quaternion[largest]! < 0 ? -value : value) + top) / 2 + 0.5);
}
