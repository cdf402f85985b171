/** Velocities of a predicted avatar from the server's positions: `spec/MOVEMENT.md`, section 7. */
import type { NumberArray } from "../interpolation/rotation.js";
import { GROUND_MEMORY_STEPS } from "./media.js";
import type { Mover } from "./mover.js";

const f = Math.fround;
/**
 * Maximum error of the velocity that is corrected, in metres a second. If the error is greater, the received
 * velocity is used unchanged.
 */
const BELIEF_MPS = 1.5;

/**
 * Corrects the predicted velocity by the difference between the received and the predicted motion since the previous
 * received position, `passed` steps earlier. `before` is the predicted state after that step.
 */
export function correctVelocity(
  mover: Mover,
  before: Mover,
  received: NumberArray,
  receivedBefore: NumberArray,
  passed: number,
): void {
  const perS = 60 / passed;
  const vx = (received[0]! - receivedBefore[0]!) * perS;
  const vy = (received[1]! - receivedBefore[1]!) * perS;
  const vz = (received[2]! - receivedBefore[2]!) * perS;
  const dx = vx - (mover.px - before.px) * perS;
  const dy = vy - (mover.py - before.py) * perS;
  const dz = vz - (mover.pz - before.pz) * perS;
  const isSmall = Math.hypot(dx, dy, dz) < BELIEF_MPS;
  mover.vx = f(isSmall ? mover.vx + dx : vx);
  mover.vy = f(isSmall ? mover.vy + dy : vy);
  mover.vz = f(isSmall ? mover.vz + dz : vz);
  if (isSmall || dy < BELIEF_MPS) return;
  // The rules launched the avatar. If it counted as grounded, its rise would end at once.
  mover.stepsSinceGround = GROUND_MEMORY_STEPS;
  mover.stepsSinceJump = 0;
}

/**
 * Corrects the velocity by a small error of the position that accumulated in the `since` steps after the last correction.
 * That correction could not know the velocity exactly, because received positions are rounded.
 */
export function refineVelocity(mover: Mover, x: number, y: number, z: number, since: number): void {
  const perS = 60 / since;
  mover.vx = f(mover.vx + (x - mover.px) * perS);
  mover.vy = f(mover.vy + (y - mover.py) * perS);
  mover.vz = f(mover.vz + (z - mover.pz) * perS);
}
