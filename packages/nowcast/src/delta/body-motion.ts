import { type Quaternion, unpack } from "./orientation.js";
import type { DeltaPast } from "./past.js";
import { dot, minus, type PointMotion, Rigid, rotation, scaled, type Vector, ZERO } from "./rigid.js";

/** The columns of a layout that `BodyPredictor` uses, and their units. */
export interface BodyColumns {
  /** The first of three columns with the position. */
  readonly position: number;
  /** The first of the four columns of an orientation. */
  readonly orientation: number;
  readonly orientationBits: number;
  /**
   * The column of the flag that says whether a body touches other bodies of a group, if the layout has such a flag.
   * Without it, every body may belong to the group.
   */
  readonly touching?: number;
  /** Gravity in position steps per tick and tick. */
  readonly gravity: readonly [number, number, number];
  /** The axis along which gravity pulls towards a floor at zero. */
  readonly up: 0 | 1 | 2;
  /** The edge of a typical body in position steps. */
  readonly size: number;
}

/**
 * The motion of a body at the baseline: measured over the last two baselines, and over all
 * baselines.
 */
export interface BodyMotion {
  readonly isMoving: boolean;
  readonly velocity: Vector;
  readonly velocityLong: Vector;
  readonly turning: Vector;
  readonly turningLong: Vector;
  /** Whether the body moves with the group. */
  isGrouped: boolean;
  /** The recent disturbance of the motion, plus 4 if the body is grouped. */
  moveClass: number;
  turnClass: number;
}

/**
 * Number of classes of motion: four degrees of disturbance, each for single bodies and for bodies
 * of the group.
 */
export const CLASSES = 8;
export const CLASS_GROUP = 4;

/**
 * Limits up to which a motion counts as free, as nearly free, and as disturbed. Each applies to the squared difference
 * between the short and the long average of velocity (steps per tick) and of rotation (orientation steps per tick).
 */
const CLASS_LIMITS = [0.5, 2, 10];
/** Squared difference from the group's motion up to which a body belongs to the group. */
const GROUP_LIMIT = 150;
const TICKS_MAX = 255;

export function placeOf({ position }: BodyColumns, values: Int32Array, at: number): Vector {
  return [values[at + position]!, values[at + position + 1]!, values[at + position + 2]!];
}

export function orientationOf(columns: BodyColumns, values: Int32Array, at: number): Quaternion {
  return unpack(values, at + columns.orientation, columns.orientationBits);
}

/**
 * Returns the steps of a component per radian. For a small rotation, a quaternion component is half of the angle in
 * radians. Its range √2 has M steps, so one radian is M √2 / 4 steps.
 */
export function stepsPerRadian({ orientationBits }: BodyColumns): number {
  return ((1 << orientationBits) - 1) * 0.3535533905932738;
}

/**
 * The motions of all bodies of a frame at its baseline, and the common motion of the bodies that
 * moved together.
 */
export function motionsOf(columns: BodyColumns, past: DeltaPast): { motions: BodyMotion[]; group: Rigid } {
  const motions = Array.from({ length: past.rows }, (_, row) => motionOf(columns, past, row));
  return { motions, group: findGroup(columns, past, motions) };
}

function motionOf(columns: BodyColumns, past: DeltaPast, row: number): BodyMotion {
  const now = past.start(0, row);
  const before = past.start(1, row);
  if (!past.changed(row) || before < 0) return still();
  // A body that did not exist yet counts as if it had been at its first position.
  const oldest = past.start(2, row);
  const starts = [now, before, oldest < 0 ? before : oldest] as const;
  const rows = [past.values(0), past.values(1), past.values(oldest < 0 ? 1 : 2)] as const;
  const width = past.width;
  if (isSame(rows[0], starts[0], rows[1], starts[1], width)) {
    if (isSame(rows[1], starts[1], rows[2], starts[2], width)) return still();
  }
  const short = ticks(past, 1);
  const long = past.baselines.length > 2 ? ticks(past, 2) : short;
  const place = (depth: 0 | 1 | 2): Vector => placeOf(columns, rows[depth], starts[depth]);
  const turn = (depth: 0 | 1 | 2): Quaternion => orientationOf(columns, rows[depth], starts[depth]);
  const velocity = scaled(minus(place(0), place(1)), 1 / short);
  const velocityLong = scaled(minus(place(0), place(2)), 1 / long);
  const turning = scaled(rotation(turn(1), turn(0)), 1 / short);
  const turningLong = scaled(rotation(turn(2), turn(0)), 1 / long);
  // In free flight the two averages differ by the effect of gravity between the middles of their
  // periods.
  const disturbed = minus(minus(velocity, velocityLong), scaled(columns.gravity, (long - short) / 2));
  const disturbedTurn = scaled(minus(turning, turningLong), stepsPerRadian(columns));
  return {
    isMoving: true,
    velocity,
    velocityLong,
    turning,
    turningLong,
    isGrouped: false,
    moveClass: classOf(dot(disturbed, disturbed)),
    turnClass: classOf(dot(disturbedTurn, disturbedTurn)),
  };
}

function still(): BodyMotion {
  const at = { velocity: ZERO, velocityLong: ZERO, turning: ZERO, turningLong: ZERO };
  return { isMoving: false, ...at, isGrouped: false, moveClass: 0, turnClass: 0 };
}

function isSame(a: Int32Array, atA: number, b: Int32Array, atB: number, width: number): boolean {
  for (let column = 0; column < width; column++) if (a[atA + column] !== b[atB + column]) return false;
  return true;
}

/** Number of ticks from an older baseline to the newest one. */
function ticks(past: DeltaPast, depth: number): number {
  const passed = (past.age(depth) - past.age(0)) >>> 0;
  return Math.max(1, Math.min(TICKS_MAX, passed));
}

function classOf(disturbed: number): number {
  return CLASS_LIMITS.filter((limit) => disturbed >= limit).length;
}

/** Finds the group that moves together, and marks its bodies. */
function findGroup(columns: BodyColumns, past: DeltaPast, motions: readonly BodyMotion[]): Rigid {
  const { touching } = columns;
  const candidates: BodyMotion[] = [];
  const bodies: PointMotion[] = [];
  motions.forEach((motion, row) => {
    if (!motion.isMoving) return;
    const values = past.values(0);
    const at = past.start(0, row);
    if (touching !== undefined && values[at + touching] === 0) return;
    candidates.push(motion);
    bodies.push([placeOf(columns, values, at), motion.velocityLong]);
  });
  const group = Rigid.of(bodies);
  if (group === undefined) return new Rigid();
  bodies.forEach(([place, velocity], at) => {
    const off = minus(velocity, group.velocityAt(place));
    if (dot(off, off) >= GROUP_LIMIT) return;
    const motion = candidates[at]!;
    motion.isGrouped = true;
    motion.moveClass += CLASS_GROUP;
    motion.turnClass += CLASS_GROUP;
  });
  return group;
}
