import { readFileSync } from "node:fs";
import { columnsOf, type DeltaColumn, type DeltaField, type DeltaFrame } from "../../src/delta/frame.js";

/** A packet, the frames against which it was encoded, and the frame to which it must decode. */
export interface Step {
  readonly packet: Uint8Array;
  readonly past: readonly DeltaFrame[];
  readonly frame: DeltaFrame;
}

interface Conversation {
  readonly layout: readonly DeltaField[];
  readonly steps: readonly {
    readonly tick: number;
    readonly past: readonly number[];
    readonly bytes: string;
    readonly ids: readonly number[];
    readonly values: readonly number[];
  }[];
}

/** Reads a conversation of the specification's vectors. */
export function conversation(file: string): { columns: readonly DeltaColumn[]; steps: readonly Step[] } {
  const path = new URL(`../../../../spec/vectors/delta/${file}.json`, import.meta.url);
  const { layout, steps } = JSON.parse(readFileSync(path, "utf8")) as Conversation;
  const frames = new Map<number, DeltaFrame>();
  return {
    columns: columnsOf(layout),
    steps: steps.map(({ tick, past, bytes, ids, values }) => {
      const frame = { tick, ids: Uint32Array.from(ids), values: Int32Array.from(values) };
      frames.set(tick, frame);
      const known = past.map((tick) => frames.get(tick)!);
      return { packet: new Uint8Array(Buffer.from(bytes, "hex")), past: known, frame };
    }),
  };
}
