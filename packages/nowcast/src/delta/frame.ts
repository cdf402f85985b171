import { NowcastError } from "../errors/nowcast-error.js";
import { type DeltaLayout, holds } from "./layout.js";

/** The state of all replicated entities at one tick. */
export interface DeltaFrame {
  /** The time of the frame, unsigned 32-bit, in steps of a constant length. */
  readonly tick: number;
  /** The ids of the entities, strictly rising. */
  readonly ids: Uint32Array;
  /** The rows, one after the other in the order of the ids. */
  readonly values: Int32Array;
}

/** Throws a misuse if the frame does not fit this layout. */
export function checkFrame(frame: DeltaFrame, layout: DeltaLayout): void {
  const { tick, ids, values } = frame;
  const { columns, width } = layout;
  checkTick(tick);
  if (values.length !== ids.length * width)
    throw new NowcastError("misuse", `${values.length} values for ${ids.length} rows of ${width}`);
  for (let row = 1; row < ids.length; row++)
    if (ids[row]! <= ids[row - 1]!)
      throw new NowcastError("misuse", `id ${ids[row]} after ${ids[row - 1]}: ids must rise`);
  for (let at = 0; at < values.length; at++) {
    if (holds(columns[at % width]!, values[at]!)) continue;
    const where = `column ${at % width} of entity ${ids[Math.floor(at / width)]}`;
    throw new NowcastError("misuse", `${values[at]} is out of the range of ${where}`);
  }
}

export function checkTick(tick: number): void {
  if (tick !== tick >>> 0)
    throw new NowcastError("misuse", `tick ${tick} is not an unsigned number of 32 bits`);
}
