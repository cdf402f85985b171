/** Where a virtual stick stands: −1 to 1 each, and whether it is pushed to the rim, which is running. */
export interface StickReading {
  forward: number;
  right: number;
  run: boolean;
}

const DEAD = 0.14;
const RUN = 0.92;

/**
 * Reads a stick from the finger's way in pixels from where it touched down. Inside the dead zone nothing moves, so that a
 * resting thumb does not drift; from there the way grows from zero, and beyond the rim it stays 1.
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
