import { NowcastError } from "../errors/nowcast-error.js";
import {
  type BodyColumns,
  type BodyMotion,
  CLASS_GROUP,
  CLASSES,
  motionsOf,
  orientationOf,
  placeOf,
  stepsPerRadian,
} from "./body-motion.js";
import { Fit } from "./fit.js";
import type { DeltaGuess } from "./guess.js";
import type { DeltaLayout } from "./layout.js";
import { Neighbours } from "./neighbours.js";
import { component, inFrameOf, type Quaternion } from "./orientation.js";
import type { DeltaPast } from "./past.js";
import type { DeltaPredictor } from "./predict.js";
import { dot, minus, plus, Rigid, rotation, scaled, turned, type Vector, ZERO } from "./rigid.js";
import { magnitude } from "./scale.js";

/**
 * Variances of the errors that remain after a good fit: first of positions (in steps), then of rotations (in radians).
 */
const NOISE_MOVE = 20;
const NOISE_TURN = 0.0003;
/** The weights of the motion are learnt more slowly than the deviation field of a frame. */
const NOISE_TURN_RULES = 3;
/** Weight of the prior that the group does not turn beyond its extrapolation. */
const SPIN_PRIOR = 0.5;
/** Expected error of rotations at the start of a frame, in sixteenths of a step. */
const DOUBT_TURN_START = 32;
const TICKS_MAX = 255;

type Axis = 0 | 1 | 2;

/** Intermediate values of the present row. */
interface Expected {
  /** Predicted values, before and after the correction by neighbours. */
  readonly place: Vector;
  readonly placeNear: Vector;
  readonly turn: Vector;
  readonly orientation: Quaternion;
  /** In eighths of a step. */
  readonly doubt: number;
}

/**
 * A predictor for rigid bodies that fly, tumble, push each other and come to rest (`spec/DELTA.md`, section 10).
 *
 * It extrapolates the motion of each body and that of the group in contact, and learns the weights
 * of both. The bodies of a frame that are already decoded improve the guesses for the other bodies
 * of the group and for their neighbours.
 */
export class BodyPredictor implements DeltaPredictor {
  /**
   * Maximum number of entities, because every changed body is compared with every other one as a
   * possible neighbour.
   */
  readonly entitiesMax = 4_096;
  readonly #columns: BodyColumns;
  readonly #known: Neighbours;
  #past: DeltaPast | undefined;
  #ahead = 0;
  #motions: readonly BodyMotion[] = [];
  #group = new Rigid();
  #moves: readonly Fit[] = [];
  #turns: readonly Fit[] = [];
  /** The deviation of the group from its extrapolation: for each axis, a function of the place. */
  #field: readonly Fit[] = [];
  #spin = ZERO;
  #spinWeight = SPIN_PRIOR;
  #doubtTurn = DOUBT_TURN_START;
  #expectedRow = -1;
  #expected: Expected | undefined;

  constructor(columns: BodyColumns) {
    this.#columns = { ...columns };
    this.#known = new Neighbours(columns.size);
  }

  start(layout: DeltaLayout, past: DeltaPast, memory: Float64Array): void {
    mustFit(this.#columns, layout);
    this.#past = past;
    this.#ahead = Math.min(past.age(0), TICKS_MAX);
    this.#known.clear(past.rows);
    this.#expectedRow = -1;
    this.#doubtTurn = DOUBT_TURN_START;
    this.#spin = ZERO;
    this.#spinWeight = SPIN_PRIOR;
    this.#field = [0, 1, 2].map(() => new Fit([0, 0, 0, 0], [1000, 1000, 1000, 1000]));
    this.#moves = startMoves();
    this.#turns = Array.from({ length: CLASSES }, () => new Fit([1, 0.3, 0.5], [0.01, 0.1, 0.1]));
    let at = 0;
    for (const fit of [...this.#moves, ...this.#turns]) {
      fit.restore(memory, at);
      at += fit.stored;
    }
    ({ motions: this.#motions, group: this.#group } = motionsOf(this.#columns, past));
  }

  guess(row: number, column: number, values: Int32Array, at: number, guess: DeltaGuess): void {
    const { position, orientation, orientationBits } = this.#columns;
    const base = this.#past!.values(0);
    const start = this.#past!.start(0, row);
    const expected = this.#expect(row, start);
    if (column >= position && column < position + 3) {
      const place = expected.placeNear[column - position]!;
      return round(guess, place, expected.doubt, base[start + column]!);
    }
    if (column === orientation) return guessLargest(guess, expected.orientation);
    if (column > orientation && column < orientation + 4) {
      const largest = values[at + orientation]!;
      const which = column - orientation - 1;
      const value = component(expected.orientation, orientationBits, largest, which);
      const from = inFrameOf(base, start + orientation, orientationBits, largest, which);
      return round(guess, value, this.#doubtTurn, from);
    }
    guess.value = base[start + column]!;
  }

  learn(row: number, values: Int32Array, at: number): void {
    const columns = this.#columns;
    const base = this.#past!.values(0);
    const start = this.#past!.start(0, row);
    const expected = this.#expect(row, start);
    const motion = this.#motions[row]!;
    const place = placeOf(columns, base, start);
    const left = minus(placeOf(columns, values, at), expected.place);
    const moved = rotation(orientationOf(columns, base, start), orientationOf(columns, values, at));
    const leftTurn = minus(moved, expected.turn);
    this.#learnFits(motion, place, left, leftTurn);
    if (motion.isMoving) {
      const size = Math.abs(leftTurn[0]) + Math.abs(leftTurn[1]) + Math.abs(leftTurn[2]);
      const sixteenths = (size * stepsPerRadian(columns) * 16) / 3;
      this.#doubtTurn += (sixteenths - this.#doubtTurn) / 8;
    }
    this.#known.add(place, left, leftTurn);
    this.#expectedRow = -1;
  }

  memory(): Float64Array {
    const fits = [...this.#moves, ...this.#turns];
    const memory = new Float64Array(fits.reduce((sum, fit) => sum + fit.stored, 0));
    let at = 0;
    for (const fit of fits) {
      fit.store(memory, at);
      at += fit.stored;
    }
    return memory;
  }

  #learnFits(motion: BodyMotion, place: Vector, left: Vector, leftTurn: Vector): void {
    // A body with a large error had a collision. Its error gives little information about the other
    // bodies.
    const noise = NOISE_MOVE + dot(left, left);
    const noiseTurn = NOISE_TURN + dot(leftTurn, leftTurn);
    const field = this.#fieldInputs(place);
    const group = this.#groupVelocity(motion, place);
    for (const axis of AXES) {
      if (motion.isGrouped) this.#field[axis]!.learn(field, left[axis], noise);
      const inputs = this.#moveInputs(motion, place, group, axis);
      this.#moves[motion.moveClass]!.learn(inputs, left[axis], noise);
      const turn = this.#turns[motion.turnClass]!;
      turn.learn(this.#turnInputs(motion, axis), leftTurn[axis], noiseTurn * NOISE_TURN_RULES);
    }
    if (!motion.isGrouped) return;
    const weight = NOISE_TURN / noiseTurn;
    this.#spinWeight += weight;
    this.#spin = plus(this.#spin, scaled(leftTurn, weight / this.#spinWeight));
  }

  /**
   * Computes the predictions of a row from its own motion, that of the group and that of the
   * neighbours, unless they were just computed.
   */
  #expect(row: number, start: number): Expected {
    if (this.#expectedRow === row) return this.#expected!;
    const columns = this.#columns;
    const base = this.#past!.values(0);
    const from = placeOf(columns, base, start);
    const motion = this.#motions[row]!;
    const group = this.#groupVelocity(motion, from);
    const move = this.#moves[motion.moveClass]!;
    let place = byAxis((axis) => from[axis] + move.predict(this.#moveInputs(motion, from, group, axis)));
    let turn = byAxis((axis) => this.#turns[motion.turnClass]!.predict(this.#turnInputs(motion, axis)));
    if (motion.isGrouped) {
      const inputs = this.#fieldInputs(from);
      const alone = place;
      place = byAxis((axis) => alone[axis] + this.#field[axis]!.predict(inputs));
      turn = plus(turn, this.#spin);
    }
    const near = this.#known.near(from);
    const orientation = turned(orientationOf(columns, base, start), plus(turn, near.leftTurn));
    this.#expected = { place, placeNear: plus(place, near.left), turn, orientation, doubt: near.size * 8 };
    this.#expectedRow = row;
    return this.#expected;
  }

  #groupVelocity(motion: BodyMotion, place: Vector): Vector {
    return motion.isGrouped ? this.#group.velocityAt(place) : motion.velocity;
  }

  #moveInputs(motion: BodyMotion, place: Vector, group: Vector, axis: Axis): readonly number[] {
    if (!motion.isMoving) return NO_MOVE;
    const n = this.#ahead;
    const velocity = motion.velocity[axis];
    const fall = ((n * n) / 2) * this.#columns.gravity[axis];
    const depth = this.#columns.size / 2 - (place[axis] + n * velocity + fall);
    return [
      n * velocity,
      n * (motion.velocityLong[axis] - velocity),
      n * (group[axis] - velocity),
      fall,
      axis === this.#columns.up && depth > 0 ? depth : 0,
    ];
  }

  #turnInputs(motion: BodyMotion, axis: Axis): readonly number[] {
    const n = this.#ahead;
    const turning = motion.turning[axis];
    const group = motion.isGrouped ? this.#group.turning[axis] : turning;
    return [n * turning, n * (motion.turningLong[axis] - turning), n * (group - turning)];
  }

  #fieldInputs(place: Vector): readonly number[] {
    return [1, ...scaled(minus(place, this.#group.centre), 1 / (4 * this.#columns.size))];
  }
}

const AXES = [0, 1, 2] as const;
const NO_MOVE = [0, 0, 0, 0, 0];

function byAxis(value: (axis: Axis) => number): Vector {
  return [value(0), value(1), value(2)];
}

function mustFit(
  { position, orientation, orientationBits, touching }: BodyColumns,
  layout: DeltaLayout,
): void {
  const { columns } = layout;
  const isFit =
    position >= 0 &&
    position + 3 <= columns.length &&
    columns[orientation]?.kind === "largest" &&
    columns[orientation].bits === orientationBits &&
    (touching === undefined || columns[touching]?.kind === "flag");
  if (!isFit) throw new NowcastError("misuse", "the predictor's columns are not those of the layout");
}

/**
 * Initially a single body is assumed to fly freely, and a body in a group to move with the group.
 */
function startMoves(): Fit[] {
  return Array.from({ length: CLASSES }, (_, at) =>
    at < CLASS_GROUP
      ? new Fit([1, 0.2, 0, 1, 1], [0.01, 0.1, 0.1, 0.1, 0.1])
      : new Fit([1, 0.2, 0.3, 0, 0], [0.01, 0.1, 0.1, 0.01, 0.01]),
  );
}

/**
 * Guesses which component is omitted. The uncertainty depends on the margin by which this component is the largest.
 */
function guessLargest(guess: DeltaGuess, orientation: Quaternion): void {
  const sizes = orientation.map(Math.abs);
  let best = 0;
  for (let at = 1; at < 4; at++) if (sizes[at]! > sizes[best]!) best = at;
  let second = 0;
  sizes.forEach((size, at) => {
    if (at !== best && size > second) second = size;
  });
  guess.value = best;
  guess.doubt = magnitude(((sizes[best]! - second) / 2) >>> 0);
}

function round(guess: DeltaGuess, exact: number, doubt: number, from: number): void {
  // A guess outside this range is useless, and whole numbers within it are exact.
  const value = Math.max(-1e9, Math.min(1e9, exact));
  const whole = Math.floor(value + 0.5);
  const rest = value - whole;
  guess.value = whole | 0;
  guess.lean = rest > 1 / 6 ? 1 : rest < -1 / 6 ? -1 : 0;
  guess.doubt = magnitude(Math.max(0, Math.min(1e6, doubt)) >>> 0);
  guess.moved = (guess.value - from) | 0;
}
