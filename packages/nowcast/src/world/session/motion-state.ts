/** Numbers in a motion row (`spec/MOTION.md`, section 2). */
export const ROW_WIDTH = 19;

/** First columns of the fields of a motion row. */
export const ROW = {
  position: 0,
  rotation: 3,
  velocity: 7,
  spin: 10,
  acceleration: 13,
  inertia: 16,
  decay: 18,
} as const;

/** Maximum number of steps for which a motion row is integrated. The body rests afterwards. */
export const MOTION_STEPS_MAX = 600;

/** The duration of a step, in seconds. */
const STEP_S = 1 / 60;
/** The rotation is integrated in this many parts of a step, as the physics of a world does. */
const SUBSTEPS = 4;
const SUBSTEP_S = STEP_S / 4;
const INERTIA_SCALE = 65_536;
const DECAY_SCALE = 128;
/** A greater square of the angular momentum, relative to the moment of inertia about x, stays as it is. */
const SQUARE_MAX = 1e30;
const INT32_MAX = 2 ** 31 - 1;

/** The numbers of steps in a unit. */
export interface MotionUnits {
  /** For each metre, and for each metre a second squared. */
  readonly position: number;
  /** For each metre a second. */
  readonly velocity: number;
  /** For each radian a second. */
  readonly spin: number;
  /** The largest number of a component. */
  readonly componentMax: number;
}

/** A position, and a quaternion x, y, z, w. */
export interface MutablePose {
  readonly position: [number, number, number];
  readonly quaternion: [number, number, number, number];
}

/** The motion of a body at a step. All operations are in the order of `spec/MOTION.md`, section 3. */
export class MotionState implements MutablePose {
  readonly position: [number, number, number] = [0, 0, 0];
  readonly quaternion: [number, number, number, number] = [0, 0, 0, 1];
  readonly #velocity: [number, number, number] = [0, 0, 0];
  /** In the directions of the body. */
  readonly #spin: [number, number, number] = [0, 0, 0];
  readonly #acceleration: [number, number, number] = [0, 0, 0];
  /** The moments of inertia about y and z, divided by that about x. */
  readonly #inertia: [number, number] = [1, 1];
  /** The share of the acceleration that is lost in a step. */
  #decay = 0;

  /** The state in which a row begins. */
  static of(row: Int32Array, units: MotionUnits): MotionState {
    const state = new MotionState();
    for (let axis = 0; axis < 3; axis++) {
      state.position[axis] = row[ROW.position + axis]! / units.position;
      state.#velocity[axis] = row[ROW.velocity + axis]! / units.velocity;
      state.#spin[axis] = row[ROW.spin + axis]! / units.spin;
      state.#acceleration[axis] = row[ROW.acceleration + axis]! / units.position;
    }
    unpack(row, units.componentMax, state.quaternion);
    state.#inertia[0] = row[ROW.inertia]! / INERTIA_SCALE;
    state.#inertia[1] = row[ROW.inertia + 1]! / INERTIA_SCALE;
    state.#decay = (row[ROW.decay]! / DECAY_SCALE) * STEP_S;
    return state;
  }

  /** Advances the state by one step. */
  step(): void {
    const [velocity, position, acceleration] = [this.#velocity, this.position, this.#acceleration];
    for (let axis = 0; axis < 3; axis++) {
      velocity[axis] = velocity[axis]! + acceleration[axis]! * STEP_S;
      position[axis] = position[axis]! + velocity[axis]! * STEP_S;
      acceleration[axis] = acceleration[axis]! - acceleration[axis]! * this.#decay;
    }
    for (let left = SUBSTEPS; left > 0; left--) this.#turn();
  }

  /** Integrates the rotation for a substep: Euler's equations without a torque, which keep the angular momentum. */
  #turn(): void {
    const spin = this.#spin;
    const [x, y, z] = spin;
    const [iy, iz] = this.#inertia;
    const lx = x;
    const ly = iy * y;
    const lz = iz * z;
    const kx = lx - (y * lz - z * ly) * SUBSTEP_S;
    const ky = ly - (z * lx - x * lz) * SUBSTEP_S;
    const kz = lz - (x * ly - y * lx) * SUBSTEP_S;
    const square = kx * kx + ky * ky + kz * kz;
    if (square > 0 && square < SQUARE_MAX) {
      const scale = Math.sqrt((lx * lx + ly * ly + lz * lz) / square);
      spin[0] = kx * scale;
      spin[1] = (ky * scale) / iy;
      spin[2] = (kz * scale) / iz;
    }
    const half = SUBSTEP_S / 2;
    turnBy(this.quaternion, spin[0] * half, spin[1] * half, spin[2] * half);
  }

  /** Advances the state by a number of steps, up to {@link MOTION_STEPS_MAX}. */
  advance(steps: number): void {
    for (let left = Math.min(steps, MOTION_STEPS_MAX); left > 0; left--) this.step();
  }

  /** Writes the row that is nearest to the state. */
  writeRow(out: Int32Array, units: MotionUnits): void {
    for (let axis = 0; axis < 3; axis++) {
      out[ROW.position + axis] = rounded(this.position[axis]! * units.position);
      out[ROW.velocity + axis] = rounded(this.#velocity[axis]! * units.velocity);
      out[ROW.spin + axis] = rounded(this.#spin[axis]! * units.spin);
      out[ROW.acceleration + axis] = rounded(this.#acceleration[axis]! * units.position);
    }
    out[ROW.inertia] = rounded(this.#inertia[0] * INERTIA_SCALE);
    out[ROW.inertia + 1] = rounded(this.#inertia[1] * INERTIA_SCALE);
    out[ROW.decay] = rounded((this.#decay / STEP_S) * DECAY_SCALE);
    let largest = 0;
    for (let at = 1; at < 4; at++) {
      if (Math.abs(this.quaternion[at]!) > Math.abs(this.quaternion[largest]!)) largest = at;
    }
    out[ROW.rotation] = largest;
    this.writeComponents(largest, out, units);
  }

  /** Writes the components other than the largest into the columns of a row. */
  writeComponents(largest: number, out: Int32Array, { componentMax }: MotionUnits): void {
    const sign = this.quaternion[largest]! < 0 ? -1 : 1;
    let column = ROW.rotation + 1;
    for (let at = 0; at < 4; at++) {
      if (at === largest) continue;
      const stored = ((sign * this.quaternion[at]! * Math.SQRT2 + 1) / 2) * componentMax;
      out[column++] = Math.min(Math.max(rounded(stored), 0), componentMax);
    }
  }
}

/** Rounds to the nearest integer of 32 bits, halves up. */
function rounded(value: number): number {
  return Math.min(Math.max(Math.floor(value + 0.5), -INT32_MAX - 1), INT32_MAX);
}

function unpack(row: Int32Array, componentMax: number, out: [number, number, number, number]): void {
  const largest = row[ROW.rotation]!;
  let column = ROW.rotation + 1;
  let squares = 0;
  for (let at = 0; at < 4; at++) {
    if (at === largest) continue;
    const component = 2 * row[column++]! - componentMax;
    out[at] = component;
    squares += component * component;
  }
  const rest = 2 * componentMax * componentMax - squares;
  out[largest] = rest > 0 ? Math.sqrt(rest) : 0;
  normalise(out);
}

/** Multiplies a quaternion by (x, y, z, 1) from the right, and normalises it. */
function turnBy(q: [number, number, number, number], x: number, y: number, z: number): void {
  const [a, b, c, d] = q;
  q[0] = d * x + a + b * z - c * y;
  q[1] = d * y - a * z + b + c * x;
  q[2] = d * z + a * y - b * x + c;
  q[3] = d - a * x - b * y - c * z;
  normalise(q);
}

function normalise(q: [number, number, number, number]): void {
  const [x, y, z, w] = q;
  const length = Math.sqrt(x * x + y * y + z * z + w * w);
  for (let at = 0; at < 4; at++) q[at] = q[at]! / length;
}
