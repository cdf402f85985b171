/**
 * The position of a virtual stick, −1 to 1 on each axis, and whether it is pushed to the rim, which means
 * running.
 */
export interface StickReading {
  forward: number;
  right: number;
  run: boolean;
}

const DEAD = 0.14;
const RUN = 0.92;

/**
 * Computes a stick from the finger's path in pixels since the touch. Inside the dead zone the value is 0, so
 * that a resting thumb causes no motion. From the edge of the dead zone the value grows from 0, and beyond
 * the rim it stays 1.
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
