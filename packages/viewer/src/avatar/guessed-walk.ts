import type { Input } from "@nowcast/page";
import { ease, type Gait } from "@nowcast/three";

/** Maximum delay that the prediction covers. It limits how far ahead of the server the player is shown. */
const DELAY_S_MAX = 0.5;
/** Speed at which the prediction grows again after an obstacle shortened it, so that the body glides. */
const RECOVERY_PER_S = 10;

/** Returns the free distance from the body in a direction along the ground, in metres. */
export type GroundTrace = (dx: number, dz: number) => number;

/**
 * Predicts the own walk: the offset of the shown body from the server's last position. The offset is the sum of the
 * steps that input since that position demands. When the server's answer arrives, its position includes these steps, so
 * the shown body continues without a jump. If the server moved the body differently, the shown body glides to the
 * server's position.
 */
export class GuessedWalk {
  /** The offset in metres, along the ground. */
  x = 0;
  z = 0;
  /** The share of the predicted steps that no obstacle blocks. */
  #share = 1;
  #vx = 0;
  #vz = 0;
  #seconds = 0;
  /** The position that results from input alone, at the end of each recent frame: time, x, z. */
  #trail: [number, number, number][] = [[0, 0, 0]];

  reset(): void {
    this.x = this.z = this.#vx = this.#vz = 0;
    this.#trail = [[this.#seconds, 0, 0]];
  }

  /** Advances by one frame. `delayS` is the time from an input to the display of its result. */
  update(
    seconds: number,
    input: Readonly<Input> | undefined,
    gait: Gait,
    delayS: number,
    trace: GroundTrace,
  ): void {
    this.#walk(seconds, input, gait);
    const [, x, z] = this.#trail[this.#trail.length - 1]!;
    const [knownX, knownZ] = this.#pathAt(Math.min(delayS, DELAY_S_MAX));
    const [stepsX, stepsZ] = [x - knownX, z - knownZ];
    const length = Math.hypot(stepsX, stepsZ);
    const free = length > 1e-3 ? Math.max(0, trace(stepsX / length, stepsZ / length)) / length : 1;
    this.#share = Math.min(free, this.#share + (1 - this.#share) * ease(RECOVERY_PER_S, seconds));
    this.x = stepsX * this.#share;
    this.z = stepsZ * this.#share;
  }

  #walk(seconds: number, input: Readonly<Input> | undefined, gait: Gait): void {
    let [wishX, wishZ] = [0, 0];
    if (input !== undefined) {
      const { forward, right, yaw, run } = input;
      const speed = (run ? gait.runSpeed : gait.walkSpeed) / Math.max(1, Math.hypot(forward, right));
      const [sin, cos] = [Math.sin(yaw), Math.cos(yaw)];
      wishX = (right * cos - forward * sin) * speed;
      wishZ = (-right * sin - forward * cos) * speed;
    }
    const change = Math.hypot(wishX - this.#vx, wishZ - this.#vz);
    const share = Math.min(1, (gait.acceleration * seconds) / Math.max(change, 1e-9));
    this.#vx += (wishX - this.#vx) * share;
    this.#vz += (wishZ - this.#vz) * share;
    this.#seconds += seconds;
    const [, x, z] = this.#trail[this.#trail.length - 1]!;
    this.#trail.push([this.#seconds, x + this.#vx * seconds, z + this.#vz * seconds]);
    while (this.#trail.length > 2 && this.#trail[1]![0] < this.#seconds - DELAY_S_MAX) this.#trail.shift();
  }

  /** The position that results from input alone, `delayS` seconds ago. */
  #pathAt(delayS: number): readonly [number, number] {
    const at = this.#seconds - delayS;
    for (let index = this.#trail.length - 2; index >= 0; index--) {
      const [fromS, fromX, fromZ] = this.#trail[index]!;
      if (fromS > at) continue;
      const [toS, toX, toZ] = this.#trail[index + 1]!;
      const share = toS > fromS ? (at - fromS) / (toS - fromS) : 1;
      return [fromX + (toX - fromX) * share, fromZ + (toZ - fromZ) * share];
    }
    const [, x, z] = this.#trail[0]!;
    return [x, z];
  }
}
