/** Opens carriers in parallel: the first that is ready is used, and the others are closed. */
import type { CarrierKind, OpenCarrier, OpenCarrierKind } from "../carrier/carrier.js";
import { NowcastError } from "../errors/nowcast-error.js";

/** Delay between the start of one carrier and the next (`spec/CARRIERS.md`, section 6). */
const HEAD_START_MS = 300;
const READY_MS_MAX = 10_000;

/**
 * Opens carriers of these kinds in turn. The next attempt begins after the head start, or when all earlier
 * attempts have failed.
 */
export function openFirst(
  kinds: readonly CarrierKind[],
  open: OpenCarrierKind,
  signal: AbortSignal,
): Promise<OpenCarrier> {
  const losers = new AbortController();
  return new Promise((resolve, reject) => {
    const waiting = [...kinds];
    const errors: unknown[] = [];
    let running = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const end = (): void => {
      clearTimeout(timer);
      clearTimeout(limit);
      signal.removeEventListener("abort", stop);
      losers.abort(new NowcastError("network", "another carrier was ready first"));
    };
    const stop = (): void => {
      end();
      reject(signal.reason);
    };
    const limit = setTimeout(() => {
      end();
      reject(
        new NowcastError("network", `no carrier was ready within ${READY_MS_MAX / 1_000} s`, {
          code: "timed_out",
        }),
      );
    }, READY_MS_MAX);
    const next = (): void => {
      clearTimeout(timer);
      const kind = waiting.shift();
      if (kind === undefined) {
        if (running > 0) return;
        end();
        reject(failure(errors));
        return;
      }
      running += 1;
      open(kind, losers.signal).then(
        (carrier) => {
          // This carrier became ready at the same time as the one that is used, so it is closed.
          if (losers.signal.aborted) return carrier.close(1000, "another carrier was ready first");
          end();
          resolve(carrier);
        },
        (error) => {
          running -= 1;
          errors.push(error);
          if (!losers.signal.aborted && running === 0) next();
        },
      );
      if (waiting.length > 0) timer = setTimeout(next, HEAD_START_MS);
    };
    if (signal.aborted) stop();
    else {
      signal.addEventListener("abort", stop);
      next();
    }
  });
}

function failure(errors: readonly unknown[]): unknown {
  if (errors.length === 1) return errors[0];
  const words = errors.map((error) => (error instanceof Error ? error.message : String(error)));
  return new NowcastError("network", `no carrier opened: ${words.join("; ")}`);
}
