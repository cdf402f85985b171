/**
 * Number of attempts at short intervals, because a restarted server is usually back within a few
 * seconds.
 */
const SOON_ATTEMPTS = 8;
const SOON_MS_MIN = 100;
const SOON_MS_MAX = 400;
const BACK_OFF_MS_MAX = 5_000;

/**
 * Returns the pause before an attempt. It doubles from 100 ms to 400 ms, stays there for a few
 * seconds, and then doubles up to 5 s. `random`, from 0 to 1, shortens it by up to half, so that
 * clients do not return all at once.
 */
export function backOffMs(attempt: number, random: number): number {
  const soonMs = Math.min(SOON_MS_MAX, SOON_MS_MIN * 2 ** Math.min(attempt, 16));
  const laterMs = soonMs * 2 ** Math.min(16, Math.max(0, attempt - SOON_ATTEMPTS));
  return Math.min(BACK_OFF_MS_MAX, laterMs) * (1 - random / 2);
}
