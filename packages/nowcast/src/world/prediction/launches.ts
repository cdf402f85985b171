/** Launches of the local avatar by the player's own actions: `predict = "launch"` in `docs/how-to/pages.md`, "Actions". */
import { bindingOf } from "../describe/binding.js";
import type { World } from "../world.js";
import { GROUND_MEMORY_STEPS } from "./media.js";
import type { Mover } from "./mover.js";

const f = Math.fround;
/** Maximum number of launches that are kept for replay. */
const LAUNCHES_MAX = 8;
/** The greatest speed of the engine, in metres a second. */
const SPEED_MAX = 40;

interface Launch {
  readonly step: number;
  readonly vx: number;
  readonly vy: number;
  readonly vz: number;
}

export class PredictedLaunches {
  readonly #launches: Launch[] = [];
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  /**
   * Adds the launch that an action after `step` causes, if the world declares one for it. `yaw` is the direction of the avatar.
   * Returns whether a launch was added.
   */
  act(name: string, step: number, yaw: number): boolean {
    const action = this.#world.definition?.actions.find((declared) => declared.name === name);
    const binding = action && bindingOf(action);
    if (binding?.predict !== "launch") return false;
    const { speed, rise } = binding;
    const length = Math.hypot(speed, rise);
    const share = length > SPEED_MAX ? SPEED_MAX / length : 1;
    const ahead = speed * share;
    const launch = {
      step,
      vx: f(-Math.sin(yaw) * ahead),
      vy: f(rise * share),
      vz: f(-Math.cos(yaw) * ahead),
    };
    this.#launches.push(launch);
    if (this.#launches.length > LAUNCHES_MAX) this.#launches.shift();
    return true;
  }

  /** Launches the walker after `step`, if an action did so (`spec/MOVEMENT.md`, section 2). */
  apply(step: number, mover: Mover): void {
    for (const launch of this.#launches) {
      if (launch.step !== step) continue;
      mover.vx = launch.vx;
      mover.vy = launch.vy;
      mover.vz = launch.vz;
      mover.stepsSinceGround = GROUND_MEMORY_STEPS;
      mover.stepsSinceJump = 0;
      mover.groundCount = 0;
      mover.carrier = undefined;
    }
  }

  clear(): void {
    this.#launches.length = 0;
  }
}
