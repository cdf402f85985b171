// Somebody in `worlds/playground` shoves blocks about, by the SDK as pages have it, and beside it what the server said of them. `motion.mjs` runs
// it in Node.
import { createInterpolator, createPredictor, joinWorld } from "nowcast/world";
import { errors, mulberry32, within } from "./motion-walk.mjs";

const JOIN_MS = 20_000;
const SETTLE_MS = 2_000;
const STILL = { forward: 0, right: 0, yaw: 0, run: false, jump: false };
/** Blocks that are so near are shoved, in metres; what is farther away or higher is left alone. */
const NEAR_M = 12;
const RISE_M = 1.5;
/** What moved by less in a frame, in metres, rests. */
const MOVED_M = 0.001;
/** What the blocks are called there. */
const KIND = "block";

/**
 * What was shown of who shoves and of the blocks, beside what the server said of both at the same steps. `isPredicted` says whether bodies are;
 * `nextFrame` is fulfilled when a frame is due, and `carriers` are those that the SDK may use.
 */
export async function push({ address, seconds, seed, carriers, nextFrame, isPredicted = true }) {
  const random = mulberry32(seed);
  const options = carriers === undefined ? {} : { carriers };
  const world = joinWorld(address, { name: "Ada", networkHz: 60, ...options });
  world.on("error", ({ error }) => console.error(error.message));
  const predictor = createPredictor(world);
  const interpolator = createInterpolator(world);
  const own = new Map();
  const blocks = new Map();
  world.on("snapshot", ({ controls, moved }) => {
    if (controls === 0) return;
    const step = predictor.step + (((controls - predictor.step) << 16) >> 16);
    for (const entity of moved) {
      if (entity.id === world.avatarId) own.set(step, [...entity.position]);
      else if (entity.kind.name === KIND) note(blocks, entity.id, step, [...entity.position]);
    }
  });
  await within(JOIN_MS, () => world.entities.has(world.avatarId));
  // Who measures something else needs no build of it.
  const { createBodyPredictor } = isPredicted ? await import("@nowcast/predict-rapier") : {};
  const bodies = await createBodyPredictor?.(world, predictor);

  const pose = { position: [0, 0, 0], quaternion: [0, 0, 0, 1] };
  const found = { ownGlides: [], blockGlides: [], costUs: [] };
  const ownFrames = [];
  const shown = new Map();
  let input = STILL;
  let changeAtMs = 0;
  let here = [0, 0, 0];
  const startMs = performance.now();
  for (;;) {
    await nextFrame();
    const nowMs = performance.now();
    if (nowMs > startMs + SETTLE_MS + seconds * 1000) break;
    const counts = nowMs > startMs + SETTLE_MS;
    if (counts && nowMs > changeAtMs) {
      input = toward(random, world, here);
      changeAtMs = nowMs + 300 + random() * 900;
    }
    const [ownOffsetM, offsets] = [predictor.offsetM, new Map()];
    for (const id of shown.keys()) offsets.set(id, bodies?.offsetM(id) ?? 0);
    const beganMs = performance.now();
    predictor.input(input);
    predictor.sample(nowMs);
    bodies?.sample(nowMs);
    if (counts) found.costUs.push((performance.now() - beganMs) * 1000);
    interpolator.sample(nowMs);
    if (!predictor.pose(pose)) continue;
    here = [...pose.position];
    if (!counts) continue;
    found.ownGlides.push(Math.max(0, ownOffsetM - predictor.offsetM));
    for (const [id, offsetM] of offsets) {
      if (offsetM > 0) found.blockGlides.push(Math.max(0, offsetM - bodies.offsetM(id)));
    }
    const moment = predictor.moment;
    ownFrames.push({ moment, position: here });
    for (const { id } of world.entitiesOf(KIND)) {
      if (!interpolator.pose(id, pose)) continue;
      if (bodies?.place(id, pose) !== true) predictor.place(id, pose.position);
      const frames = shown.get(id) ?? [];
      shown.set(id, frames);
      frames.push({ moment, position: [...pose.position] });
    }
  }
  await new Promise((resolve) => setTimeout(resolve, 500));
  const stats = bodies?.stats;
  const failure = bodies?.failure?.message;
  const { corrections } = predictor;
  const carrier = world.stats.link?.carrier ?? "none";
  bodies?.close();
  predictor.close();
  interpolator.close();
  world.close();
  const blockErrors = [...blocks].flatMap(([id, places]) => errors(moving(shown.get(id) ?? []), places));
  return { ...found, ownErrors: errors(ownFrames, own), blockErrors, corrections, stats, failure, carrier };
}

function note(blocks, id, step, position) {
  const places = blocks.get(id) ?? new Map();
  blocks.set(id, places);
  places.set(step, position);
}

/** The frames in which it was shown to move, and those after them. */
function moving(frames) {
  return frames.filter(({ position }, at) => {
    const before = frames[at - 1]?.position ?? position;
    return Math.hypot(...position.map((part, axis) => part - before[axis])) > MOVED_M;
  });
}

/** At one of the blocks near by, walking or running, with a jump at times. */
function toward(random, world, [x, y, z]) {
  if (random() < 0.1) return STILL;
  const near = [];
  for (const { position } of world.entitiesOf(KIND)) {
    const [dx, dy, dz] = [position[0] - x, position[1] - y, position[2] - z];
    if (Math.hypot(dx, dz) < NEAR_M && Math.abs(dy) < RISE_M) near.push([dx, dz]);
  }
  const [dx, dz] = near[Math.floor(random() * near.length)] ?? [-x, -z];
  const yaw = Math.atan2(-dx, -dz) + (random() - 0.5) * 0.4;
  return { forward: 1, right: 0, yaw, run: random() < 0.4, jump: random() < 0.1 };
}
