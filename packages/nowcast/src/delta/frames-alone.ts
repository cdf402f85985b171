import { DeltaBaseline } from "./baseline.js";
import { checkFrame, type DeltaFrame } from "./frame.js";
import { type DeltaLayout, difference } from "./layout.js";
import { DeltaPast } from "./past.js";

/** The assumed error of a value, in sixteenths of a step, is this multiple of the change of its velocity. */
const ERROR_OF_BEND = 8;
const BEND_MAX = 4000;
const NOTHING = { changes: new Uint8Array(0), errors: new Uint16Array(0), memory: new Float64Array(0) };

/**
 * Makes baselines of frames that are stored without learnt state, newest first (`spec/DELTA.md`,
 * section 13).
 */
export function baselinesOfFrames(layout: DeltaLayout, frames: readonly DeltaFrame[]): DeltaBaseline[] {
  for (const frame of frames) checkFrame(frame, layout);
  const baselines = frames.map((frame) => {
    const { changes, errors, memory } = NOTHING;
    return new DeltaBaseline(layout, frame, changes, errors, undefined, memory);
  });
  const newest = frames[0];
  if (newest === undefined) return baselines;
  const past = new DeltaPast(newest.tick, layout.width, newest.ids, baselines.slice(1));
  baselines[0] = estimated(layout, newest, past);
  return baselines;
}

function estimated(layout: DeltaLayout, frame: DeltaFrame, past: DeltaPast): DeltaBaseline {
  const { ids, values } = frame;
  const { columns, width } = layout;
  const changes = new Uint8Array(ids.length);
  const errors = new Uint16Array(values.length);
  for (let row = 0; row < ids.length; row++) {
    const b = row * width;
    const [p, ps] = rowOf(past, 0, row) ?? [b, values];
    const [o, os] = rowOf(past, 1, row) ?? [p, ps];
    for (let at = 0; at < width; at++) {
      const column = columns[at]!;
      const step = difference(column, values[b + at]!, ps[p + at]!);
      const before = difference(column, ps[p + at]!, os[o + at]!);
      const bend = (step - before) | 0;
      errors[b + at] = Math.min(Math.abs(bend), BEND_MAX) * ERROR_OF_BEND;
      if (values[b + at] !== ps[p + at]) changes[row]! |= 1;
      if (ps[p + at] !== os[o + at]) changes[row]! |= 2;
    }
  }
  return new DeltaBaseline(layout, frame, changes, errors, undefined, NOTHING.memory);
}

function rowOf(past: DeltaPast, depth: number, row: number): [number, Int32Array] | undefined {
  const start = past.start(depth, row);
  return start < 0 ? undefined : [start, past.values(depth)];
}
