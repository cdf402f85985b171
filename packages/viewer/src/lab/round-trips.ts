/** Statistics of round trips, and an interpretation for users. */

/** Tolerance above the usual time, because timers and threads of browsers add delay. */
const TOLERANCE_MS = 15;

export interface Summary {
  readonly sent: number;
  readonly back: number;
  /** The time of an undisturbed message: the 10th percentile of the round trips. */
  readonly usualMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Number of messages that exceeded the tolerance, or never returned. */
  readonly late: number;
  readonly onTimePercent: number;
}

export function quantile(sorted: readonly number[], share: number): number {
  if (sorted.length === 0) return Number.NaN;
  const rank = Math.min(Math.max(Math.ceil(share * sorted.length), 1), sorted.length);
  return sorted[rank - 1] ?? Number.NaN;
}

/** `trips` has the round trip of each message that returned. */
export function summarise(trips: readonly (number | undefined)[]): Summary {
  const back = trips.filter((trip) => trip !== undefined).sort((a, b) => a - b);
  const usualMs = quantile(back, 0.1);
  const onTime = back.filter((trip) => trip <= usualMs + TOLERANCE_MS).length;
  return {
    sent: trips.length,
    back: back.length,
    usualMs,
    p50Ms: quantile(back, 0.5),
    p99Ms: quantile(back, 0.99),
    maxMs: back.at(-1) ?? Number.NaN,
    late: trips.length - onTime,
    onTimePercent: trips.length === 0 ? 0 : (100 * onTime) / trips.length,
  };
}

export interface Verdict {
  readonly mark: "good" | "fair" | "poor";
  readonly words: string;
}

/** A verdict in words for users who want to know whether a shared world will work well. */
export function judge(summary: Summary): Verdict {
  const { back, late, maxMs, usualMs, onTimePercent } = summary;
  if (back === 0) return { mark: "poor", words: "Nothing came back." };
  const worst = `the worst took ${Math.round(maxMs)} ms instead of ${Math.round(usualMs)}`;
  if (late === 0) return { mark: "good", words: "Steady: every message came on time." };
  const some = late === 1 ? "one message was late" : `${late} messages were late`;
  if (onTimePercent >= 99) return { mark: "good", words: `Good: ${some}, ${worst}.` };
  if (onTimePercent >= 97) return { mark: "fair", words: `You may notice hitches: ${some}, ${worst}.` };
  return { mark: "poor", words: `You will notice freezes: ${some}, ${worst}.` };
}
