/** The server's steering of a walker when physics decides: `crates/world/src/walker.rs`. */
import type { Gait, WalkerMotion } from "nowcast/extend";
import type { Input } from "nowcast/world";

const JUMP_PAUSE_STEPS = 20;
const JUMP_RISE_STEPS = 4;
const GROUND_MEMORY_STEPS = 6;
const DEAD_ZONE = 0.01;
const STEP_S = 1 / 60;

/**
 * Writes into `out` the velocity with which a walker enters the step that its input demands, before gravity and
 * collisions.
 */
export function steer(motion: WalkerMotion, gait: Gait, input: Input, out: Float64Array): void {
  const [wishX, wishZ] = wish(gait, input);
  const ground = groundOf(motion, wishX, wishZ);
  const sinceGround = ground >= 0 ? 0 : motion.stepsSinceGround + 1;
  const sinceJump = motion.stepsSinceJump + 1;
  out[0] = motion.vx;
  out[1] = motion.vy;
  out[2] = motion.vz;
  if (ground >= 0) walk(motion, ground, wishX, wishZ, gait, out);
  else accelerate(out, wishX - out[0]!, 0, wishZ - out[2]!, gait.airAcceleration * STEP_S);
  if (ground < 0 && sinceGround < Math.min(sinceJump, GROUND_MEMORY_STEPS)) out[1] = Math.min(out[1]!, 0);
  if (input.jump && sinceGround < GROUND_MEMORY_STEPS && sinceJump >= JUMP_PAUSE_STEPS) {
    out[1] = gait.jumpSpeed;
  }
}

/**
 * Writes into `out` the velocity with which a walker that climbs or swims enters the step to `after`. Physics subtracts
 * gravity afterwards.
 */
export function steerInMedium({ mediumVelocity }: WalkerMotion, { gravity }: Gait, out: Float64Array): void {
  out.set(mediumVelocity);
  out[1]! += gravity * STEP_S;
}

/** The horizontal velocity that the input demands: x and z. */
function wish({ walkSpeed, runSpeed }: Gait, { forward, right, yaw, run }: Input): readonly [number, number] {
  const [sine, cosine] = [Math.sin(yaw), Math.cos(yaw)];
  const x = -sine * forward + cosine * right;
  const z = -cosine * forward - sine * right;
  const length = Math.hypot(x, z);
  if (length < DEAD_ZONE) return [0, 0];
  const speed = (run ? runSpeed : walkSpeed) / Math.max(1, length);
  return [x * speed, z * speed];
}

/** The index in `grounds` of the surface that climbs most in the desired direction; −1 in the air. */
function groundOf({ grounds, groundCount, stepsSinceJump }: WalkerMotion, x: number, z: number): number {
  if (stepsSinceJump < JUMP_RISE_STEPS) return -1;
  let best = -1;
  let least = Number.POSITIVE_INFINITY;
  for (let at = 0; at < 3 * groundCount; at += 3) {
    const height = grounds[at]! * x + grounds[at + 2]! * z - grounds[at + 1]!;
    if (height >= least) continue;
    best = at;
    least = height;
  }
  return best;
}

function walk(
  { grounds }: WalkerMotion,
  ground: number,
  wishX: number,
  wishZ: number,
  { groundAcceleration, gravity }: Gait,
  out: Float64Array,
): void {
  const [nx, ny, nz] = [grounds[ground]!, grounds[ground + 1]!, grounds[ground + 2]!];
  const into = wishX * nx + wishZ * nz;
  let [x, y, z] = [wishX - nx * into, -ny * into, wishZ - nz * into];
  const speed = Math.hypot(wishX, wishZ);
  if (speed > 0) {
    const stretch = speed / Math.max(1e-3, Math.hypot(x, y, z));
    x *= stretch;
    y *= stretch;
    z *= stretch;
  }
  // Physics adds gravity afterwards, so its part along the slope is subtracted here.
  const fall = gravity * STEP_S;
  x -= fall * ny * nx;
  y -= fall * (ny * ny - 1);
  z -= fall * ny * nz;
  const [dx, dy, dz] = [x - out[0]!, y - out[1]!, z - out[2]!];
  const beside = dx * nx + dy * ny + dz * nz;
  accelerate(out, dx - nx * beside, dy - ny * beside, dz - nz * beside, groundAcceleration * STEP_S);
}

function accelerate(out: Float64Array, dx: number, dy: number, dz: number, most: number): void {
  const change = Math.hypot(dx, dy, dz);
  const share = change > most ? most / change : 1;
  out[0]! += dx * share;
  out[1]! += dy * share;
  out[2]! += dz * share;
}
