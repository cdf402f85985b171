/** The estimate of the peer's clock (`spec/SESSION.md`, section 12). */
import { expect, it } from "vitest";
import { PeerClock } from "../../src/session/clock.js";

const MS = 1_000;

/** Samples each 50 ms over 16 s. After 4 s, one of the clocks stands still, in each part of a round trip once. */
function sleep(sleeper: "ours" | "peer", sleptMs: number): { errors: number[]; drifts: number[] } {
  const clock = new PeerClock();
  let [now, peer] = [1_000 * MS, 9_000 * MS];
  const [errors, drifts]: [number[], number[]] = [[], []];
  for (let step = 0; step < 320; step++) {
    const [out, held, back] = [10, 2, 10 + (step % 5)];
    const sent = now;
    const times = [out, held, back, 50 - out - held - back].map((ms, leg) => {
      const asleep = step === 80 + leg ? sleptMs * MS : 0;
      now += ms * MS + (sleeper === "peer" ? asleep : 0);
      peer += ms * MS + (sleeper === "ours" ? asleep : 0);
      return { now, peer };
    });
    clock.sample(sent, times[0]!.peer, times[1]!.peer, times[2]!.now);
    if (step >= 80 && step < 104) continue;
    errors.push(Math.abs(clock.offsetUs(now)! - (peer - now)));
    drifts.push(Math.abs(clock.driftPpm));
  }
  return { errors, drifts };
}

for (const sleeper of ["ours", "peer"] as const) {
  it.each([
    1_000, 20_000, 40_000,
  ])(`is right within a second after the clock of ${sleeper} stood still for %i ms`, (sleptMs) => {
    const { errors, drifts } = sleep(sleeper, sleptMs);
    expect(Math.max(...errors)).toBeLessThan(100 * MS);
    expect(Math.max(...drifts)).toBeLessThan(1_500);
  });
}
