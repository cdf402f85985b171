/** The position of a virtual stick: −1 to 1 each, and whether it is pushed to the rim, which means running. */
export interface StickReading {
  forward: number;
  right: number;
  run: boolean;
}

const DEAD = 0.14;
const RUN = 0.92;

/**
 * Computes a stick from the finger's path in pixels since the touch. Inside the dead zone there is no motion, so that a
 * resting thumb does not drift. From there the value grows from zero, and beyond the rim it stays 1.
 */
export function readStick(dx: number, dy: number, radiusPx: number, out: StickReading): StickReading {
  const length = Math.hypot(dx, dy) / radiusPx;
  if (!(length > DEAD)) {
    out.forward = 0;
    out.right = 0;
    out.run = false;
    return out;
  }
  const push = Math.min(1, (length - DEAD) / (1 - DEAD));
  out.right = (dx / radiusPx / length) * push;
  out.forward = (-dy / radiusPx / length) * push;
  out.run = length >= RUN;
  return out;
}
