/**
 * One step of a walker, equal to the server's to the last bit: `spec/MOVEMENT.md`. Every operation is rounded
 * separately.
 */
import type { Input } from "../world.js";
import { change, GROUND_MEMORY_STEPS, JUMP_PAUSE_STEPS, Media, WALKABLE_COSINE } from "./media.js";
import { Contact, type Solid } from "./solid.js";

const f = Math.fround;

export const STEP_SECONDS = f(1 / 60);

/** The fields of `WalkerFields` in `docs/reference/world-luau.md`, and gravity; all of 32 bits. */
export interface Gait {
  readonly height: number;
  readonly radius: number;
  readonly walkSpeed: number;
  readonly runSpeed: number;
  readonly groundAcceleration: number;
  readonly airAcceleration: number;
  readonly jumpSpeed: number;
  /** Gravity, in metres a second squared, downward. */
  readonly gravity: number;
  /** Whether the walker keeps its place. */
  readonly isFrozen?: boolean;
}

const JUMP_RISE_STEPS = 4;
const GROUNDS_MAX = 4;
const TOUCH_DISTANCE = f(0.002);
const STRIDE_SHARE = 0.5;
const STRIDES_MAX = 32;
const PUSHES_MAX = 6;
const DEAD_ZONE = f(0.01);
const LENGTH_MIN = f(1e-3);
const SPEED_MAX = 40;
/** Counts of steps are limited to this number, because greater counts make no difference. */
const STEPS_COUNTED_MAX = 0xffff;

const PI = f(Math.PI);
const TAU = f(2 * Math.PI);
/** Number of parts in a radian: a power of two, so that multiples are exact. */
const YAW_PARTS = 8192;
/** The greatest number of parts that does not exceed π. */
const YAW_PARTS_MAX = 25_735;
const QUARTER = f(Math.PI / 2);
const EIGHTH = f(Math.PI / 4);
const QUARTER_PARTS = [1.5703125, f(4.837513e-4), f(7.54979e-8)] as const;
const SINE = [f(-1.9515296e-4), f(8.332161e-3), f(0.16666655)] as const;
const COSINE = [f(2.4433157e-5), f(1.3887316e-3), f(0.041666646)] as const;

/** Quantises a yaw of input as the server does: to the nearest multiple of 1/8192 from −π to π. */
export function quantiseYaw(yaw: number): number {
  const parts = Math.floor(f(f(wrapAngle(yaw) * YAW_PARTS) + 0.5));
  return Math.min(YAW_PARTS_MAX, Math.max(-YAW_PARTS_MAX, parts)) / YAW_PARTS;
}

function wrapAngle(angle: number): number {
  const turned = f(f(angle) % TAU);
  if (turned > PI) return f(turned - TAU);
  if (turned < -PI) return f(turned + TAU);
  return turned;
}

/** Bodies that the walker pushes, and that push the walker. The collisions change a step after the walker is steered and before it moves. */
export interface StepCollisions {
  collide(mover: Mover, gait: Gait, solids: readonly Solid[], count: number): void;
}

/** A walker at one step. */
export class Mover {
  px = 0;
  py = 0;
  pz = 0;
  vx = 0;
  vy = 0;
  vz = 0;
  stepsSinceGround = GROUND_MEMORY_STEPS;
  stepsSinceJump = JUMP_PAUSE_STEPS;
  groundCount = 0;
  /** Upward normals of the supporting surfaces: three numbers each. */
  readonly grounds = new Float32Array(3 * GROUNDS_MAX);
  /** The velocities of these surfaces under the walker, in metres a second. */
  readonly groundVelocities = new Float32Array(3 * GROUNDS_MAX);
  /** The moving solid that carries the walker, if any. */
  carrier: Solid | undefined;
  /** Whether the walker climbed or swam in its last step, and the velocity with which it entered that step. */
  isInMedium = false;
  readonly mediumVelocity = new Float32Array(3);

  readonly #contact = new Contact();
  readonly #media = new Media();
  readonly #carried = new Float32Array(3);
  /** The results of `#sineCosine` and `#wish`. */
  #sine = 0;
  #cosine = 1;
  #wishX = 0;
  #wishZ = 0;
  /** The results of `#walk` and `#drift`. */
  #changeX = 0;
  #changeY = 0;
  #changeZ = 0;

  /** Sets the state to rest in the air. */
  restart(x: number, y: number, z: number): void {
    this.px = f(x);
    this.py = f(y);
    this.pz = f(z);
    this.vx = this.vy = this.vz = 0;
    this.stepsSinceGround = GROUND_MEMORY_STEPS;
    this.stepsSinceJump = JUMP_PAUSE_STEPS;
    this.groundCount = 0;
    this.carrier = undefined;
    this.isInMedium = false;
  }

  copy(other: Mover): void {
    this.px = other.px;
    this.py = other.py;
    this.pz = other.pz;
    this.vx = other.vx;
    this.vy = other.vy;
    this.vz = other.vz;
    this.stepsSinceGround = other.stepsSinceGround;
    this.stepsSinceJump = other.stepsSinceJump;
    this.groundCount = other.groundCount;
    this.grounds.set(other.grounds);
    this.groundVelocities.set(other.groundVelocities);
    this.carrier = other.carrier;
    this.isInMedium = other.isInMedium;
    this.mediumVelocity.set(other.mediumVelocity);
  }

  /**
   * Advances by 1/60 s. The first `count` of `solids` are valid; those out of reach do not change a
   * bit of the result. `yaw` is the result of {@link quantiseYaw}.
   */
  step(
    gait: Gait,
    input: Input,
    solids: readonly Solid[],
    count = solids.length,
    collisions?: StepCollisions,
  ): void {
    this.isInMedium = false;
    if (gait.isFrozen === true) {
      this.freeze();
      return;
    }
    this.#wish(gait, input);
    const ground = this.#ground();
    this.stepsSinceGround = ground >= 0 ? 0 : Math.min(this.stepsSinceGround + 1, STEPS_COUNTED_MAX);
    this.stepsSinceJump = Math.min(this.stepsSinceJump + 1, STEPS_COUNTED_MAX);
    this.#media.wishX = this.#wishX;
    this.#media.wishZ = this.#wishZ;
    if (this.#media.steer(this, gait, input.jump, ground >= 0, solids, count)) {
      this.#limitSpeed();
      this.isInMedium = true;
      this.mediumVelocity[0] = this.vx;
      this.mediumVelocity[1] = this.vy;
      this.mediumVelocity[2] = this.vz;
      collisions?.collide(this, gait, solids, count);
      this.#travel(gait, solids, count);
      this.updateGround(gait, solids, count);
      return;
    }
    if (ground >= 0) this.#walk(ground);
    else this.#drift();
    this.#accelerate(gait, ground >= 0);
    const isOverEdge =
      ground < 0 && this.stepsSinceGround < Math.min(this.stepsSinceJump, GROUND_MEMORY_STEPS);
    if (isOverEdge && this.vy > 0) this.vy = 0;
    const jumps =
      input.jump && this.stepsSinceGround < GROUND_MEMORY_STEPS && this.stepsSinceJump >= JUMP_PAUSE_STEPS;
    if (jumps) {
      this.vy = gait.jumpSpeed;
      const rise = ground >= 0 ? this.groundVelocities[ground + 1]! : 0;
      if (rise > 0) this.vy = f(this.vy + rise);
      this.stepsSinceJump = 0;
      this.stepsSinceGround = GROUND_MEMORY_STEPS;
    }
    const fall = f(gait.gravity * STEP_SECONDS);
    if (ground >= 0 && !jumps) {
      const nx = this.grounds[ground]!;
      const ny = this.grounds[ground + 1]!;
      const nz = this.grounds[ground + 2]!;
      const press = f(fall * ny);
      this.vx = f(this.vx - f(nx * press));
      this.vy = f(this.vy - f(ny * press));
      this.vz = f(this.vz - f(nz * press));
    } else {
      this.vy = f(this.vy - fall);
    }
    this.#limitSpeed();
    collisions?.collide(this, gait, solids, count);
    this.#travel(gait, solids, count);
    this.updateGround(gait, solids, count);
  }

  /** Takes the step of a frozen walker: it keeps its position, its counts and its grounds, and loses its velocity. */
  freeze(): void {
    this.vx = this.vy = this.vz = 0;
  }

  /** Finds the ground at the walker's current position. */
  updateGround(gait: Pick<Gait, "radius" | "height">, solids: readonly Solid[], count = solids.length): void {
    const contact = this.#contact;
    this.groundCount = 0;
    this.carrier = undefined;
    for (let at = 0; at < count && this.groundCount < GROUNDS_MAX; at++) {
      const solid = solids[at]!;
      contact.measure(solid, this, gait);
      if (contact.gap >= TOUCH_DISTANCE || contact.y < WALKABLE_COSINE) continue;
      const to = 3 * this.groundCount++;
      this.grounds[to] = contact.x;
      this.grounds[to + 1] = contact.y;
      this.grounds[to + 2] = contact.z;
      solid.carry(this, this.groundVelocities, to);
      if (solid.moves) this.carrier = solid;
    }
  }

  /** Whether a ladder or water holds the walker, so that it can rest without ground. */
  isHeld(gait: Gait, solids: readonly Solid[], count: number): boolean {
    return this.#media.holds(this, gait, solids, count);
  }

  #travel(gait: Gait, solids: readonly Solid[], count: number): void {
    const x = f(this.vx * STEP_SECONDS);
    const y = f(this.vy * STEP_SECONDS);
    const z = f(this.vz * STEP_SECONDS);
    const way = f(Math.sqrt(f(f(f(x * x) + f(y * y)) + f(z * z))));
    const stride = f(gait.radius * STRIDE_SHARE);
    let strides = 1;
    while (strides < STRIDES_MAX && way > f(stride * strides)) strides++;
    const share = f(STEP_SECONDS / strides);
    for (let done = 0; done < strides; done++) {
      this.px = f(this.px + f(this.vx * share));
      this.py = f(this.py + f(this.vy * share));
      this.pz = f(this.pz + f(this.vz * share));
      this.#pushOut(gait, solids, count);
    }
  }

  #pushOut(gait: Gait, solids: readonly Solid[], count: number): void {
    const contact = this.#contact;
    for (let push = 0; push < PUSHES_MAX; push++) {
      let nx = 0;
      let ny = 1;
      let nz = 0;
      let gap = 0;
      let met: Solid | undefined;
      for (let at = 0; at < count; at++) {
        const solid = solids[at]!;
        contact.measure(solid, this, gait);
        if (contact.gap >= gap || (solid.isGroundOnly && contact.y < WALKABLE_COSINE)) continue;
        nx = contact.x;
        ny = contact.y;
        nz = contact.z;
        gap = contact.gap;
        met = solid;
      }
      if (met === undefined) return;
      this.px = f(this.px - f(nx * gap));
      this.py = f(this.py - f(ny * gap));
      this.pz = f(this.pz - f(nz * gap));
      const carried = this.#carried;
      met.carry(this, carried);
      const vx = f(this.vx - carried[0]!);
      const vy = f(this.vy - carried[1]!);
      const vz = f(this.vz - carried[2]!);
      const inward = f(f(f(vx * nx) + f(vy * ny)) + f(vz * nz));
      if (inward >= 0) continue;
      this.vx = f(this.vx - f(nx * inward));
      this.vy = f(this.vy - f(ny * inward));
      this.vz = f(this.vz - f(nz * inward));
    }
  }

  /** The index in `grounds` of the surface that climbs most in the desired direction; −1 in the air. */
  #ground(): number {
    if (this.stepsSinceJump < JUMP_RISE_STEPS) return -1;
    let best = -1;
    let least = 0;
    for (let at = 0; at < 3 * this.groundCount; at += 3) {
      const ny = this.grounds[at + 1]!;
      const along = f(
        f(f(this.grounds[at]! * this.#wishX) + f(ny * 0)) + f(this.grounds[at + 2]! * this.#wishZ),
      );
      const height = f(along - ny);
      if (best >= 0 && height >= least) continue;
      best = at;
      least = height;
    }
    return best;
  }

  /** The horizontal velocity that the input demands. */
  #wish(gait: Gait, { forward, right, yaw, run }: Input): void {
    this.#sineCosine(yaw);
    const sine = this.#sine;
    const cosine = this.#cosine;
    const [ahead, aside] = [f(forward), f(right)];
    let x = f(f(-sine * ahead) + f(cosine * aside));
    let z = f(f(-cosine * ahead) - f(sine * aside));
    const wished = f(Math.sqrt(f(f(x * x) + f(z * z))));
    if (wished < DEAD_ZONE) {
      this.#wishX = this.#wishZ = 0;
      return;
    }
    if (wished > 1) {
      x = f(x / wished);
      z = f(z / wished);
    }
    const speed = run ? gait.runSpeed : gait.walkSpeed;
    this.#wishX = f(x * speed);
    this.#wishZ = f(z * speed);
  }

  /** Sets the desired change of velocity on a supporting surface. */
  #walk(ground: number): void {
    const nx = this.grounds[ground]!;
    const ny = this.grounds[ground + 1]!;
    const nz = this.grounds[ground + 2]!;
    const wishX = this.#wishX;
    const wishZ = this.#wishZ;
    const into = f(f(f(wishX * nx) + f(0 * ny)) + f(wishZ * nz));
    let tx = f(wishX - f(nx * into));
    let ty = f(0 - f(ny * into));
    let tz = f(wishZ - f(nz * into));
    const speed = f(Math.sqrt(f(f(wishX * wishX) + f(wishZ * wishZ))));
    if (speed > 0) {
      const along = f(Math.sqrt(f(f(f(tx * tx) + f(ty * ty)) + f(tz * tz))));
      const stretch = f(speed / (along > LENGTH_MIN ? along : LENGTH_MIN));
      tx = f(tx * stretch);
      ty = f(ty * stretch);
      tz = f(tz * stretch);
    }
    const { groundVelocities } = this;
    const dx = f(tx - f(this.vx - groundVelocities[ground]!));
    const dy = f(ty - f(this.vy - groundVelocities[ground + 1]!));
    const dz = f(tz - f(this.vz - groundVelocities[ground + 2]!));
    const beside = f(f(f(dx * nx) + f(dy * ny)) + f(dz * nz));
    this.#changeX = f(dx - f(nx * beside));
    this.#changeY = f(dy - f(ny * beside));
    this.#changeZ = f(dz - f(nz * beside));
  }

  /** Sets the desired change of velocity in the air. */
  #drift(): void {
    this.#changeX = f(this.#wishX - this.vx);
    this.#changeY = 0;
    this.#changeZ = f(this.#wishZ - this.vz);
  }

  /** Changes the velocity as desired, limited by the walker's acceleration. */
  #accelerate(gait: Gait, isOnGround: boolean): void {
    const most = f((isOnGround ? gait.groundAcceleration : gait.airAcceleration) * STEP_SECONDS);
    change(this, this.#changeX, this.#changeY, this.#changeZ, most);
  }

  #sineCosine(angle: number): void {
    let quarters = 0;
    while (f(angle - f(quarters * QUARTER)) > EIGHTH && quarters < 2) quarters++;
    while (f(angle - f(quarters * QUARTER)) < -EIGHTH && quarters > -2) quarters--;
    let rest = f(angle - f(quarters * QUARTER_PARTS[0]));
    rest = f(rest - f(quarters * QUARTER_PARTS[1]));
    rest = f(rest - f(quarters * QUARTER_PARTS[2]));
    const square = f(rest * rest);
    const bent = f(f(f(f(SINE[0] * square) + SINE[1]) * square) - SINE[2]);
    const sine = f(rest + f(f(rest * square) * bent));
    const high = f(f(f(f(f(COSINE[0] * square) - COSINE[1]) * square) * square) * square);
    const middle = f(f(COSINE[2] * square) * square);
    const cosine = f(f(f(high + middle) - f(0.5 * square)) + 1);
    if (quarters === 0) this.#turn(sine, cosine);
    else if (quarters === 1) this.#turn(cosine, -sine);
    else if (quarters === -1) this.#turn(-cosine, sine);
    else this.#turn(-sine, -cosine);
  }

  #limitSpeed(): void {
    const { vx, vy, vz } = this;
    const speed = f(Math.sqrt(f(f(f(vx * vx) + f(vy * vy)) + f(vz * vz))));
    if (!(speed > SPEED_MAX)) return;
    const share = f(SPEED_MAX / speed);
    this.vx = f(vx * share);
    this.vy = f(vy * share);
    this.vz = f(vz * share);
  }

  #turn(sine: number, cosine: number): void {
    this.#sine = sine;
    this.#cosine = cosine;
  }
}
