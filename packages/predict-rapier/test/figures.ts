/** The figures of a run of a rig. */
import type { EntityId } from "nowcast/world";
import { AVATAR } from "./entities.js";
import type { Rig } from "./rig.js";

/**
 * Distances of shown positions from the server's at the same step, in metres, for frames for which the server's
 * position is known.
 */
export function errorsOf(rig: Rig, id: EntityId, from = 0): number[] {
  const found: number[] = [];
  for (const { moment, own, bodies } of rig.frames.slice(from)) {
    const [from, to] = [rig.truth.get(Math.floor(moment)), rig.truth.get(Math.floor(moment) + 1)];
    const shown = id === AVATAR ? own : bodies.get(id);
    if (from === undefined || to === undefined || shown === undefined) continue;
    const share = moment - Math.floor(moment);
    const [a, b] = [from.get(id)!, to.get(id)!];
    found.push(
      Math.hypot(...[0, 1, 2].map((axis) => shown[axis]! - a[axis]! - (b[axis]! - a[axis]!) * share)),
    );
  }
  return found;
}

/** Motion between shown frames beyond the server's own motion, in metres. */
export function jumpsOf(rig: Rig, id: EntityId, from = 0): number[] {
  const found: number[] = [];
  let before: { shown: readonly number[]; true: readonly number[] } | undefined;
  for (const { moment, own, bodies } of rig.frames.slice(from)) {
    const [from, to] = [rig.truth.get(Math.floor(moment)), rig.truth.get(Math.floor(moment) + 1)];
    const shown = id === AVATAR ? own : bodies.get(id);
    if (from === undefined || to === undefined || shown === undefined) continue;
    const share = moment - Math.floor(moment);
    const [a, b] = [from.get(id)!, to.get(id)!];
    const now = { shown, true: [0, 1, 2].map((axis) => a[axis]! + (b[axis]! - a[axis]!) * share) };
    if (before !== undefined) {
      const was = before;
      const beside = [0, 1, 2].map(
        (axis) => shown[axis]! - was.shown[axis]! - (now.true[axis]! - was.true[axis]!),
      );
      found.push(Math.hypot(...beside));
    }
    before = now;
  }
  return found;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

/** Returns a generator of random numbers from 0 to 1. The same `start` gives the same numbers. */
export function mulberry32(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
