import fc from "fast-check";
import { BodyPredictor, type DeltaField, type DeltaFrame, type DeltaLayout } from "../../src/delta/index.js";

export const anyField: fc.Arbitrary<DeltaField> = fc.oneof(
  fc.constant<DeltaField>({ kind: "number" }),
  fc.constant<DeltaField>({ kind: "flag" }),
  fc.integer({ min: 1, max: 16 }).map((bits): DeltaField => ({ kind: "angle", bits })),
  fc.integer({ min: 2, max: 15 }).map((bits): DeltaField => ({ kind: "orientation", bits })),
);

/** One tick of a generated world: its duration, its entities, and the random numbers that move them. */
export interface Happening {
  readonly passed: number;
  readonly ids: readonly number[];
  readonly draws: readonly number[];
}

const anyId = fc.oneof({ weight: 5, arbitrary: fc.nat(12) }, fc.nat(0xffff_ffff), fc.constant(0xffff_ffff));

export const anyHappenings: fc.Arbitrary<Happening[]> = fc.array(
  fc.record({
    passed: fc.oneof({ weight: 5, arbitrary: fc.nat(3) }, fc.nat(0xffff_ffff)),
    ids: fc.uniqueArray(anyId, { maxLength: 15 }),
    draws: fc.array(fc.integer(), { minLength: 1, maxLength: 30 }),
  }),
  { maxLength: 8 },
);

/** Frames in which some values rest, some change by small steps, and some jump. */
export function framesOf(layout: DeltaLayout, happenings: readonly Happening[]): DeltaFrame[] {
  const world = new Map<number, number[]>();
  let tick = 0xffff_fff0;
  return happenings.map(({ passed, ids, draws }) => {
    tick = (tick + passed) >>> 0;
    let drawn = 0;
    const sorted = Uint32Array.from(ids).sort();
    const rows = [...sorted].flatMap((id) => {
      const before = world.get(id) ?? layout.columns.map(() => 0);
      const row = layout.columns.map((column, at) => {
        const draw = draws[drawn++ % draws.length]!;
        if (draw % 3 === 0) return before[at]!;
        return inRange(column.kind, column.bits, draw % 3 === 1 ? before[at]! + ((draw >> 2) % 9) : draw);
      });
      world.set(id, row);
      return row;
    });
    return { tick, ids: sorted, values: Int32Array.from(rows) };
  });
}

function inRange(kind: string, bits: number, value: number): number {
  if (kind === "number") return value | 0;
  if (kind === "largest") return value & 3;
  return value & ((1 << bits) - 1);
}

/** Positions, an orientation and a flag for touching others: the columns of `BodyPredictor`. */
export const BODY_FIELDS: readonly DeltaField[] = [
  { kind: "number" },
  { kind: "number" },
  { kind: "number" },
  { kind: "orientation", bits: 9 },
  { kind: "flag" },
];

export function bodyPredictor(): BodyPredictor {
  const gravity = [0, 0, -1.4] as const;
  return new BodyPredictor({
    position: 0,
    orientation: 3,
    orientationBits: 9,
    touching: 7,
    gravity,
    up: 2,
    size: 205,
  });
}

/** Generates bodies: a third rests, a third glides as a group, and a third tumbles while falling. */
export function tumblingBodies(seed: number, bodies: number, frames: number): DeltaFrame[] {
  let state = Math.imul(seed, 0x9e37_79b1) | 1;
  const roll = (sides: number): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % sides;
  };
  const rows = Array.from({ length: bodies }, (_, at) => [
    roll(3000) - 1500,
    roll(3000) - 1500,
    roll(2000),
    roll(4),
    100 + roll(300),
    100 + roll(300),
    100 + roll(300),
    at % 3 === 1 ? 1 : 0,
  ]);
  return Array.from({ length: frames }, (_, tick) => {
    rows.forEach((row, at) => {
      if (at % 3 === 1) row[0]! += 20 + roll(5);
      if (at % 3 !== 2) return;
      row[2] = Math.max(100, row[2]! - 3 * tick - roll(3));
      if (roll(10) === 0) row[3] = roll(4);
      row[4] = Math.min(511, Math.max(0, row[4]! + roll(7) - 3));
    });
    const here = rows.map((_, at) => at).filter((at) => at % 10 !== 9 || ((tick >> 1) + at) % 2 === 0);
    const values = here.flatMap((at) => rows[at]!);
    return { tick, ids: Uint32Array.from(here, (at) => 3 * at), values: Int32Array.from(values) };
  });
}
