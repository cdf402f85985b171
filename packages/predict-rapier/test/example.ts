import type { BodyPredictor } from "@nowcast/predict-rapier";
import {
  createInterpolator,
  createPredictor,
  type EntityId,
  type Input,
  joinWorld,
  type Pose,
} from "nowcast/world";

const world = joinWorld("https://localhost:7777/r/playground", { name: "Ada" });
const predictor = createPredictor(world);
const interpolator = createInterpolator(world);

let bodies: BodyPredictor | undefined;
// Loaded while players already play; until then, and without it, bodies are shown interpolated.
import("@nowcast/predict-rapier")
  .then(({ createBodyPredictor }) => createBodyPredictor(world, predictor))
  .then((made) => {
    bodies = made;
  })
  .catch((error: Error) => console.warn(error.message));

const pose: Pose = { position: [0, 0, 0], quaternion: [0, 0, 0, 1] };
export function frame(nowMs: number, controls: Input, draw: (id: EntityId, pose: Pose) => void): void {
  predictor.input(controls);
  predictor.sample(nowMs);
  bodies?.sample(nowMs);
  interpolator.sample(nowMs);
  for (const id of world.entities.keys()) {
    if (!interpolator.pose(id, pose)) continue;
    if (id === world.avatarId) predictor.pose(pose);
    else if (!bodies?.place(id, pose)) predictor.place(id, pose.position);
    draw(id, pose);
  }
}
