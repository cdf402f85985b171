/** Steps of walkers on ladders and in water: `spec/MOVEMENT.md`, section 5. Every operation is rounded separately. */
import { Contact, type Solid, type WalkerSize } from "./solid.js";

const f = Math.fround;
const STEP_SECONDS = f(1 / 60);

export const JUMP_PAUSE_STEPS = 20;
export const GROUND_MEMORY_STEPS = 6;
export const WALKABLE_COSINE = f(0.555);
const CLIMB_DISTANCE = f(0.1);
const SLOWER = 0.75;
const PULL_PER_SECOND = 10;
const LEAP_SHARE = 0.5;
const DRAG_SHARE = 0.5;
const SINK_SHARE = f(0.15);
const SURFACE_SHARE = f(0.1);

/** The state of a walker that these steps change. */
interface Steered {
  readonly px: number;
  readonly py: number;
  readonly pz: number;
  vx: number;
  vy: number;
  vz: number;
  stepsSinceGround: number;
  stepsSinceJump: number;
}

interface Speeds extends WalkerSize {
  readonly walkSpeed: number;
  readonly groundAcceleration: number;
  readonly jumpSpeed: number;
}

/** Steers one walker on ladders and in water. */
export class Media {
  /** The horizontal velocity that the input demands; set before each call of {@link Media.steer}. */
  wishX = 0;
  wishZ = 0;
  readonly #contact = new Contact();
  readonly #point = { px: 0, py: 0, pz: 0 };
  /** The nearest ladder: the normal toward the walker, and the distance. */
  #nx = 0;
  #ny = 0;
  #nz = 0;
  #gap = 0;

  /**
   * Changes the velocity and the counts of a walker that climbs or swims in this step. Returns false and changes nothing
   * for every other walker. `stepsSinceJump` already counts this step.
   */
  steer(
    walker: Steered,
    gait: Speeds,
    jumps: boolean,
    hasGround: boolean,
    solids: readonly Solid[],
    count: number,
  ): boolean {
    if (walker.stepsSinceJump < JUMP_PAUSE_STEPS) return false;
    const swims = this.#isInWater(walker.px, walker.py, walker.pz, solids, count);
    if (this.#findLadder(walker, gait, solids, count)) {
      const across = f(Math.sqrt(f(f(this.#nx * this.#nx) + f(this.#nz * this.#nz))));
      const awayX = f(this.#nx / across);
      const awayZ = f(this.#nz / across);
      const into = -f(f(f(this.wishX * awayX) + 0) + f(this.wishZ * awayZ));
      if (into > 0 || !(hasGround || swims)) {
        this.#climb(walker, gait, jumps, across, awayX, awayZ, into);
        return true;
      }
    }
    if (swims) this.#swim(walker, gait, jumps, solids, count);
    return swims;
  }

  /** Whether the walker touches a ladder, or its middle is in water. */
  holds(walker: Steered, gait: WalkerSize, solids: readonly Solid[], count: number): boolean {
    return (
      this.#findLadder(walker, gait, solids, count) ||
      this.#isInWater(walker.px, walker.py, walker.pz, solids, count)
    );
  }

  #findLadder(walker: Steered, size: WalkerSize, solids: readonly Solid[], count: number): boolean {
    const contact = this.#contact;
    let least = CLIMB_DISTANCE;
    let isFound = false;
    for (let at = 0; at < count; at++) {
      const solid = solids[at]!;
      if (solid.role !== "ladder") continue;
      contact.measure(solid, walker, size);
      const isBeside = contact.y < WALKABLE_COSINE && contact.y > -WALKABLE_COSINE;
      if (!isBeside || contact.gap >= least) continue;
      isFound = true;
      this.#nx = contact.x;
      this.#ny = contact.y;
      this.#nz = contact.z;
      this.#gap = least = contact.gap;
    }
    return isFound;
  }

  #isInWater(x: number, y: number, z: number, solids: readonly Solid[], count: number): boolean {
    for (let at = 0; at < count; at++) {
      const solid = solids[at]!;
      if (solid.role !== "water") continue;
      const point = this.#point;
      point.px = x;
      point.py = y;
      point.pz = z;
      if (this.#contact.contains(solid, point)) return true;
    }
    return false;
  }

  #climb(
    walker: Steered,
    gait: Speeds,
    jumps: boolean,
    across: number,
    awayX: number,
    awayZ: number,
    into: number,
  ): void {
    walker.stepsSinceGround = GROUND_MEMORY_STEPS;
    if (jumps) {
      const leap = f(gait.jumpSpeed * LEAP_SHARE);
      walker.vx = f(awayX * leap);
      walker.vy = leap;
      walker.vz = f(awayZ * leap);
      walker.stepsSinceJump = 0;
      return;
    }
    const upX = f(-this.#ny * awayX);
    const upZ = f(-this.#ny * awayZ);
    const besideX = f(this.wishX + f(awayX * into));
    const besideY = f(0 + f(0 * into));
    const besideZ = f(this.wishZ + f(awayZ * into));
    const pull = f(this.#gap * PULL_PER_SECOND);
    const x = f(f(f(besideX + f(upX * into)) * SLOWER) - f(this.#nx * pull));
    const y = f(f(f(besideY + f(across * into)) * SLOWER) - f(this.#ny * pull));
    const z = f(f(f(besideZ + f(upZ * into)) * SLOWER) - f(this.#nz * pull));
    accelerate(walker, x, y, z, f(gait.groundAcceleration * STEP_SECONDS));
  }

  #swim(walker: Steered, gait: Speeds, jumps: boolean, solids: readonly Solid[], count: number): void {
    walker.stepsSinceGround = GROUND_MEMORY_STEPS;
    const isIdle = this.wishX === 0 && this.wishZ === 0;
    const rise = jumps ? gait.walkSpeed : isIdle ? -f(gait.walkSpeed * SINK_SHARE) : 0;
    const most = f(f(gait.groundAcceleration * DRAG_SHARE) * STEP_SECONDS);
    accelerate(walker, f(this.wishX * SLOWER), rise, f(this.wishZ * SLOWER), most);
    if (!jumps) return;
    const top = f(walker.py + f(gait.height * SURFACE_SHARE));
    if (this.#isInWater(walker.px, top, walker.pz, solids, count)) return;
    walker.vy = gait.jumpSpeed;
    walker.stepsSinceJump = 0;
  }
}

/** Changes the velocity toward a target, by at most `most` metres a second. */
function accelerate(walker: Steered, x: number, y: number, z: number, most: number): void {
  change(walker, f(x - walker.vx), f(y - walker.vy), f(z - walker.vz), most);
}

/** Changes the velocity by at most `most` metres a second. */
export function change(
  walker: Pick<Steered, "vx" | "vy" | "vz">,
  x: number,
  y: number,
  z: number,
  most: number,
): void {
  const wanted = f(Math.sqrt(f(f(f(x * x) + f(y * y)) + f(z * z))));
  const share = wanted > most ? f(most / wanted) : 1;
  walker.vx = f(walker.vx + f(x * share));
  walker.vy = f(walker.vy + f(y * share));
  walker.vz = f(walker.vz + f(z * share));
}
