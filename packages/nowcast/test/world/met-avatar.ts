/** Repeats a recorded walk in which the local avatar runs into another player's avatar. */
import { readFileSync } from "node:fs";
import type { PosedWorld } from "../../src/world/posed-world.js";
import { createPoseBuffer } from "../../src/world/poses/layer.js";
import { AvatarPrediction } from "../../src/world/prediction/avatar-prediction.js";
import type { Entity, EntityId, Input, Kind } from "../../src/world/world.js";
import { entityOf, kind } from "./prediction-rig.js";

const STEP_MS = 1000 / 60;
/** Steps between a step of the client and the answer to it: those of a link of 100 ms that loses packets. */
const LAG_STEPS = 12;
const SETTLE_STEPS = 40;
const TICK_LEAD = 500;

/**
 * Steps of a walk that `cargo xtask lab motion --quick --seed 2` recorded: forward, right, yaw in 1/8192, run, jump; then, if the
 * server answered this step, the positions of the own avatar and of the other one, in 1/1,024 m.
 */
const STEPS: readonly (readonly number[])[] = JSON.parse(
  readFileSync(new URL("met-avatar.json", import.meta.url), "utf8"),
);

const PERSON: Kind = {
  name: "person",
  body: undefined,
  walker: {},
  look: undefined,
  attributes: [],
  owner: undefined,
};

type Vec3 = [number, number, number];

function placeAt(row: readonly number[], at: number): Vec3 {
  return row.slice(at, at + 3).map((part) => part / 1024) as Vec3;
}

function inputOf([forward, right, yaw, run, jump]: readonly number[]): Input {
  return { forward: forward!, right: right!, yaw: yaw! / 8192, run: run === 1, jump: jump === 1 };
}

/** Returns the error of the shown own avatar, and of the other one when it was drawn as predicted, of each frame in metres. */
export function replay(): { own: number[]; other: number[] } {
  const floor = entityOf(1, kind("floor", [40, 1, 40]), [0, -0.5, 0]);
  const own = entityOf(3, PERSON, placeAt(STEPS[0]!, 5));
  const other = entityOf(4, PERSON, placeAt(STEPS[0]!, 8));
  const listeners: ((event: unknown) => void)[] = [];
  let nowMs = 0;
  const source = {
    on: (type: string, listener: (event: unknown) => void) => {
      if (type === "snapshot") listeners.push(listener);
      return () => undefined;
    },
    entities: new Map<EntityId, Entity>([floor, own, other].map((entity) => [entity.id, entity])),
    avatarId: own.id,
    avatar: own,
    status: "open",
    connection: "steady",
    inputAtStep: () => true,
  } as unknown as PosedWorld;
  const predictor = new AvatarPrediction(source);
  const rowAt = (step: number) => STEPS[Math.max(0, step - SETTLE_STEPS)];
  const pose = createPoseBuffer();
  const errors = { own: [] as number[], other: [] as number[] };
  for (let frame = 1; frame < STEPS.length + SETTLE_STEPS; frame++) {
    // A little later than the steps of the first frame's clock, so that each frame takes exactly one step.
    nowMs = frame * STEP_MS + (frame > 1 ? 0.05 : 0);
    predictor.input(inputOf(rowAt(predictor.step + 1) ?? STEPS.at(-1)!));
    predictor.frame(nowMs, { place: () => true });
    const answered = predictor.step - LAG_STEPS;
    const row = rowAt(answered);
    if (row?.[5] !== undefined && answered > 0) {
      const tick = answered + TICK_LEAD;
      const moved: Entity[] = [];
      for (const [entity, at] of [
        [own, 5],
        [other, 8],
      ] as const) {
        const place = placeAt(row, at);
        if (place.every((part, axis) => part === entity.position[axis])) continue;
        entity.position = place;
        entity.tick = tick;
        moved.push(entity);
      }
      for (const listener of listeners)
        listener({ tick, ackedInputSequence: answered, moved, receivedAtMs: nowMs });
    }
    const now = rowAt(predictor.step);
    if (frame <= SETTLE_STEPS || now?.[5] === undefined) continue;
    predictor.place(own.id, pose);
    errors.own.push(distance([...pose.position], placeAt(now, 5)));
    pose.position.set(other.position);
    if (predictor.layers.some((layer) => layer.place(other.id, pose)))
      errors.other.push(distance([...pose.position], placeAt(now, 8)));
  }
  predictor.close();
  return errors;
}

function distance([ax, ay, az]: readonly number[], [bx, by, bz]: readonly number[]): number {
  return Math.hypot(ax! - bx!, ay! - by!, az! - bz!);
}
