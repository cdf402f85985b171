const BACK_OFF_MS_MIN = 250;
const BACK_OFF_MS_MAX = 5000;

/** Doubles from 250 ms to 5 s; `random` from 0 to 1 takes up to half off, so that clients don't return in step. */
export function backOffMs(attempt: number, random: number): number {
  const fullMs = Math.min(BACK_OFF_MS_MAX, BACK_OFF_MS_MIN * 2 ** Math.min(attempt, 16));
  return fullMs * (1 - random / 2);
}
