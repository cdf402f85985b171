import type { Member } from "./avatar/crowd.js";
import { yawOf } from "./camera.js";
import type { Hud } from "./hud/hud.js";
import type { Net } from "./net.js";
import type { Box, Boxes } from "./scene/boxes.js";

/** As far as the server lets arms reach, less a little: what lights up can be taken even when one is seen late. */
const REACH_M = 1.75;
/** "In front" is within 60° of where one faces. */
const FRONT_COSINE = 0.5;
const CHARGE_SECONDS = 0.9;
const POWER_MIN = 0.18;
const PITCH_UP = 0.32;

/** What one's own hands can do: take the block that is lit, put it down, or throw it the harder the longer one waits. */
export class Hands {
  private chargingSeconds: number | undefined;
  private lit: number | undefined;

  constructor(
    private readonly boxes: Boxes,
    private readonly hud: Hud,
    private readonly touch: () => boolean,
  ) {}

  grab(net: Net, own: Member | undefined): void {
    if (own?.held !== undefined) net.throw(0, 0);
    else net.grab(this.lit);
  }

  startCharge(own: Member | undefined): void {
    if (own?.held !== undefined) this.chargingSeconds = 0;
  }

  cancelCharge(): void {
    this.chargingSeconds = undefined;
    this.hud.setCharge(undefined);
  }

  /** Lets fly; `cameraPitch` is how far the camera looks down. */
  throwNow(net: Net, own: Member | undefined, cameraPitch: number): void {
    const charged = this.chargingSeconds;
    this.cancelCharge();
    if (charged === undefined || own?.held === undefined) return;
    net.throw(power(charged), throwPitch(cameraPitch));
  }

  update(seconds: number, own: Member | undefined): void {
    if (this.chargingSeconds !== undefined) {
      this.chargingSeconds += seconds;
      if (own?.held === undefined) this.cancelCharge();
      else this.hud.setCharge(power(this.chargingSeconds));
    }
    const reachable = own && own.held === undefined ? this.nearestInFront(own) : undefined;
    if (reachable?.id !== this.lit) {
      if (this.lit !== undefined) this.boxes.setGlow(this.lit, 0);
      if (reachable) this.boxes.setGlow(reachable.id, 1);
      this.lit = reachable?.id;
    }
    this.hud.setPrompt(this.touch() || !own ? "" : promptFor(own.held !== undefined, this.lit !== undefined));
  }

  /** Forgets everything, as after a reconnect. */
  reset(): void {
    this.lit = undefined;
    this.cancelCharge();
  }

  private nearestInFront(own: Member): Box | undefined {
    const yaw = yawOf(own);
    const aheadX = -Math.sin(yaw);
    const aheadZ = -Math.cos(yaw);
    let nearest: Box | undefined;
    let nearestDistance = REACH_M;
    for (const box of this.boxes.all) {
      if (!box.movable) continue;
      const dx = box.x - own.x;
      const dz = box.z - own.z;
      const flat = Math.hypot(dx, dz);
      const size = Math.hypot(box.halfX, box.halfY, box.halfZ);
      if (flat > REACH_M + size || dx * aheadX + dz * aheadZ < FRONT_COSINE * flat) continue;
      // Arms reach from the hips to above the head, so height counts only beyond that.
      const height = box.y - own.y;
      const beyond = height - Math.min(0.6, Math.max(-0.9, height));
      const distance = Math.hypot(flat, beyond) - size * 0.6;
      if (distance < nearestDistance) {
        nearestDistance = distance;
        nearest = box;
      }
    }
    return nearest;
  }
}

function promptFor(carrying: boolean, lit: boolean): string {
  if (carrying) return "E put down · hold F or the mouse button to throw";
  return lit ? "E grab" : "";
}

/** How hard a throw is after so long a wait, 0 to 1. */
export function power(chargedSeconds: number): number {
  return Math.min(1, POWER_MIN + (1 - POWER_MIN) * (chargedSeconds / CHARGE_SECONDS));
}

/** A camera that looks down a little still throws upward a little: that is how one throws at what one sees. */
export function throwPitch(cameraPitch: number): number {
  return Math.min(1.2, Math.max(-0.6, PITCH_UP - (cameraPitch - 0.25) * 0.8));
}
