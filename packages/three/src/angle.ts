/** The share of the way to go in this frame so that the same second always covers the same ground, at any frame rate. */
export function ease(perSecond: number, seconds: number): number {
  return 1 - Math.exp(-perSecond * seconds);
}

/** The same angle between −π and π. */
export function wrapAngle(angle: number): number {
  const turns = Math.round(angle / (2 * Math.PI));
  return angle - turns * 2 * Math.PI;
}
