/** The earliest of several times, any of which may be missing. */
export function earliest(times: readonly (number | undefined)[]): number | undefined {
  let least: number | undefined;
  for (const time of times) if (time !== undefined && (least === undefined || time < least)) least = time;
  return least;
}
