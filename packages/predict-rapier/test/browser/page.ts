/** A page with a player who walks into a block, for the test in this folder. */
import { createBodyPredictor } from "@nowcast/predict-rapier";
import { createPredictor, type EntityId } from "nowcast/world";
import { BLOCK, entityOf, GROUND, PERSON, Source, STILL, worldOf } from "../entities.js";

const FRAME_MS = 1000 / 60;
const BLOCK_ID = 2 as EntityId;

/** The shown position of the block after a walk of two seconds, or the reason why it is not predicted. */
async function walk(): Promise<string> {
  const entities = [
    entityOf(1, PERSON, [0, 0.9, 0]),
    entityOf(BLOCK_ID, BLOCK, [0, 0.5, -2]),
    entityOf(3, GROUND, [0, -0.5, 0]),
  ];
  const world = worldOf(new Source(entities));
  let nowMs = 0;
  const predictor = createPredictor(world, { nowMs: () => nowMs });
  try {
    const bodies = await createBodyPredictor(world, predictor);
    for (let frame = 0; frame < 120; frame++) {
      nowMs += FRAME_MS;
      predictor.input({ ...STILL, forward: 1 });
      predictor.sample(nowMs);
      bodies.sample(nowMs);
    }
    const pose = { position: [0, 0.5, -2], quaternion: [0, 0, 0, 1] };
    bodies.place(BLOCK_ID, pose);
    bodies.close();
    return `the block is at ${pose.position[2]!.toFixed(6)}`;
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

Object.assign(globalThis, { walk });
