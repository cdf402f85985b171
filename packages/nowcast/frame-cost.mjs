// Measures the work and the garbage of the SDK in a frame: `npm run frame-cost`. Three hundred entities move; a page
// draws 60 frames a second and receives 20 snapshots a second. It predicts the local avatar, which stands on a floor
// between other avatars. Run it on an idle machine.
// `--check` fails if a frame or a snapshot makes more garbage than allowed. The flag `--single-threaded` of Node makes
// the times of compilation, and so the garbage, almost equal in all runs.
import { rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const ENTITIES = 300;
/** The local avatar, and the others around it. */
const AVATARS = 20;
const FRAMES = 6_000;
const FRAMES_PER_SNAPSHOT = 3;
const FRAME_MS = 1000 / 60;
/** The clock of frames. A browser calls a page with a number that exists already, as whole milliseconds do here. */
const clockMs = () => Math.round(frame * FRAME_MS);
/** A frame makes none. A client at rest reports its step every half second, which is about 3 bytes a frame. */
const FRAME_BYTES_MAX = 8;
/** The event of a snapshot has 56 bytes. */
const SNAPSHOT_BYTES_MAX = 120;
/** Frames before the measurement, in which the engine compiles the code. */
const WARM_FRAMES = 3_000;

const { outputFiles } = await build({
  stdin: {
    contents: `
      export { Poses } from "./world/poses/poses.ts";
      export { AvatarPrediction } from "./world/prediction/avatar-prediction.ts";
      export { Emitter } from "./events/emitter.ts";`,
    resolveDir: fileURLToPath(new URL("./src", import.meta.url)),
    loader: "ts",
  },
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  write: false,
});
const bundle = new URL(`./frame-cost-${process.pid}.bundle.mjs`, import.meta.url);
writeFileSync(bundle, outputFiles[0].contents);
const { AvatarPrediction, Emitter, Poses } = await import(bundle.href).finally(() => rmSync(bundle));

const emitter = new Emitter();
const person = { name: "person", body: undefined, walker: {}, look: null, attributes: [], owner: undefined };
const block = { ...person, name: "block", walker: undefined };
const floor = { ...block, name: "floor", body: { motion: "fixed", shape: "box", size: [100, 1, 100] } };
const entities = new Map();
for (let id = 1; id <= ENTITIES; id++) {
  const [position, quaternion] = [
    [id, 0, 0],
    [0, 0, 0, 1],
  ];
  const kind = id <= AVATARS ? person : block;
  entities.set(id, { id, kind, scale: [1, 1, 1], attributes: {}, position, quaternion, tick: 0 });
}
const scale = [1, 1, 1];
const ground = {
  id: 0,
  kind: floor,
  scale,
  attributes: {},
  position: [0, -1.4, 0],
  quaternion: [0, 0, 0, 1],
  tick: 0,
};
entities.set(ground.id, ground);
const world = {
  entities,
  avatarId: 1,
  avatar: entities.get(1),
  stepHz: 60,
  status: "open",
  connection: "steady",
  definition: undefined,
  stats: { pingMs: 50 },
  on: (type, listener) => emitter.on(type, listener),
  inputAtStep: () => true,
};
const poses = new Poses(world);
world.input = (input) => poses.prediction?.input(input) ?? false;
poses.predict(new AvatarPrediction(world));
emitter.emit("welcome", { playerId: 1, isResumed: false, stepHz: 60, networkHz: 20, tick: 0 });
for (const entity of entities.values()) emitter.emit("spawn", { entity });
const input = { forward: 0, right: 0, yaw: 0, run: false, jump: false };
const pose = { position: { x: 0, y: 0, z: 0 }, quaternion: { x: 0, y: 0, z: 0, w: 1 } };
const moved = [...entities.values()].filter(({ id }) => id > 1);

let frame = 0;
function move() {
  const tick = frame;
  for (const entity of moved) {
    entity.position[0] = (entity.kind === person ? 0.3 : 1) * entity.id + Math.sin(tick / 40);
    entity.position[2] = Math.cos(tick / 40);
    entity.tick = tick;
  }
  return tick;
}

function receive() {
  const tick = move();
  emitter.emit("snapshot", { tick, receivedAtMs: clockMs(), moved, ackedInputSequence: 0 });
}

/** The calls of a page in a frame. */
function draw(nowMs) {
  world.input(input);
  poses.frame(nowMs);
  for (const id of entities.keys()) poses.pose(id, pose);
}

const times = new Float64Array(FRAMES);
for (let at = -WARM_FRAMES; at < FRAMES; at++) {
  frame++;
  if (frame % FRAMES_PER_SNAPSHOT === 0) receive();
  const begin = process.cpuUsage();
  draw(clockMs());
  const { user, system } = process.cpuUsage(begin);
  if (at >= 0) times[at] = (user + system) / 1e3;
}
/** The bytes that a frame allocates: the mean of many, less than the heap's statistics can resolve. */
function garbageOf(run) {
  globalThis.gc();
  const before = process.memoryUsage().heapUsed;
  for (let at = 0; at < FRAMES; at++) run();
  return (process.memoryUsage().heapUsed - before) / FRAMES;
}

/** A frame of the page and of the world, without the SDK. Its garbage is not the SDK's. */
function runAlone() {
  frame++;
  if (frame % FRAMES_PER_SNAPSHOT === 0) move();
  const nowMs = clockMs();
  for (const id of entities.keys()) pose.position.x = id + nowMs;
}

function runFrame() {
  frame++;
  if (frame % FRAMES_PER_SNAPSHOT === 0) receive();
  draw(clockMs());
}

function runStill() {
  frame++;
  draw(clockMs());
}

const [alone, still, together] = [runAlone, runStill, runFrame].map((run) => {
  for (let at = 0; at < WARM_FRAMES; at++) run();
  return Math.min(...[0, 1, 2, 3, 4].map(() => garbageOf(run)));
});
const snapshotBytes = (together - still) * FRAMES_PER_SNAPSHOT;
times.sort();
const at = (share) => times[Math.floor(share * FRAMES)].toFixed(3);
console.log(`${ENTITIES} entities, ${FRAMES} frames, processor time: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`);
console.log(
  `garbage: ${(still - alone).toFixed(1)} bytes a frame, and ${snapshotBytes.toFixed(1)} bytes a snapshot`,
);
const isWithin = still - alone <= FRAME_BYTES_MAX && snapshotBytes <= SNAPSHOT_BYTES_MAX;
process.exit(process.argv.includes("--check") && !isWithin ? 1 : 0);
