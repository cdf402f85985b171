/** The share of the remaining way to move in this frame, so that the motion is the same at any frame rate. */
export function ease(perSecond: number, seconds: number): number {
  return 1 - Math.exp(-perSecond * seconds);
}

/** Wraps an angle to −π to π. */
export function wrapAngle(angle: number): number {
  const turns = Math.round(angle / (2 * Math.PI));
  return angle - turns * 2 * Math.PI;
}
