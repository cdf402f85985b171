/**
 * The messages that a receiving lane releases, and when. The implementation in Rust is tested with the same scripts.
 */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { ReceiveLane } from "../../src/session/lane/receive.js";
import { DEFAULT_LIMITS } from "../../src/session/limits.js";
import { readFrame } from "../../src/session/packet/frames.js";
import { PacketReader } from "../../src/session/packet/reader.js";

type Shown = { key: number; value: string } | { event: number; kind: number; payload: string };
type Step = { frame: string } | { consume: Shown[] };
type Script = { name: string; steps: Step[]; late: number };

const scripts: Script[] = JSON.parse(
  readFileSync(new URL("../../../../spec/vectors/session/release.json", import.meta.url), "utf8"),
);
const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

it.each(scripts)("$name", ({ steps, late }) => {
  const counters = { stale: 0, late: 0 };
  const lane = new ReceiveLane(DEFAULT_LIMITS, counters);
  for (const step of steps) {
    if ("frame" in step) arrive(lane, Uint8Array.from(Buffer.from(step.frame, "hex")));
    else expect(consume(lane)).toEqual(step.consume);
  }
  expect(counters.stale + counters.late).toBe(late);
});

function arrive(lane: ReceiveLane, bytes: Uint8Array): void {
  const frame = readFrame(new PacketReader(bytes));
  if (frame.type === "states") lane.receiveStates(frame, 0, 0);
  else if (frame.type === "state_part") lane.receiveStatePart(frame, 0, 0);
  else if (frame.type === "event") lane.receiveEvent(frame, 0);
  else if (frame.type === "event_part") lane.receiveEventPart(frame, 0);
  else throw new Error(`a script holds no ${frame.type}`);
}

function consume(lane: ReceiveLane): Shown[] {
  const shown: Shown[] = [];
  for (let next = lane.take(0); next !== undefined; next = lane.take(0)) {
    if (next.type === "state") shown.push({ key: Number(next.key), value: toHex(next.value) });
    else shown.push({ event: next.number, kind: next.kind, payload: toHex(next.value) });
  }
  return shown;
}
