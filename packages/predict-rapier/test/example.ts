import { createPoses, type EntityId, type Input, joinWorld, type Pose } from "nowcast/world";

const world = joinWorld("https://localhost:7777/r/playground", { name: "Ada" });
const poses = createPoses(world);

// The package is loaded while players already play. Until it is loaded, and if loading fails, bodies are shown
// interpolated.
import("@nowcast/predict-rapier")
  .then(({ createBodyPredictor }) => createBodyPredictor(world, poses.predictor!))
  .then((bodies) => {
    poses.bodies = bodies;
  })
  .catch((error: Error) => console.warn(error.message));

const pose: Pose = { position: [0, 0, 0], quaternion: [0, 0, 0, 1] };
export function frame(nowMs: number, controls: Input, draw: (id: EntityId, pose: Pose) => void): void {
  poses.input(controls);
  poses.sample(nowMs);
  for (const id of world.entities.keys()) if (poses.pose(id, pose)) draw(id, pose);
}
