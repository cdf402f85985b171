// Two players in one room use the SDK as pages do: the first walks and predicts, the second watches. The script is the
// same in Node and in a page: `motion.mjs` runs it in either.
import { joinWorld } from "nowcast/world";

/** @typedef {import("nowcast/world").Input} Input */
/** @typedef {[x: number, y: number, z: number]} Place */
/** @typedef {{ readonly moment: number, readonly position: Place }} Frame */
/**
 * The arguments of a measurement. `nextFrame` resolves when a frame is due, and `carriers` are those that the SDK may use.
 *
 * @typedef {object} Plan
 * @property {string} address
 * @property {number} seconds
 * @property {number} seed
 * @property {import("nowcast/world").JoinOptions["carriers"]} [carriers]
 * @property {() => Promise<unknown>} nextFrame
 */

const JOIN_MS = 20_000;
const SETTLE_MS = 2_000;
const RUN_SPEED = 6.4;
const CHANGED_M = 1e-4;
/** @type {Input} */
const STILL = { forward: 0, right: 0, yaw: 0, run: false, jump: false };
/** Positions farther apart in time do not determine the motion between them. */
const STEPS_BETWEEN_MAX = 6;
/** An entity without an update for this long has not moved. Before that, an update may have been lost. */
const STILL_STEPS = 24;

/**
 * Compares the displayed poses with the server's. `extent` is half the width of the ground in metres.
 *
 * @param {Plan & { readonly extent: number }} plan
 */
export async function walk({ address, seconds, seed, extent, carriers, nextFrame }) {
  const random = mulberry32(seed);
  const options = carriers === undefined ? {} : { carriers };
  const walker = joinWorld(address, { name: "Ada", networkHz: 60, ...options });
  const watcher = joinWorld(address, { name: "Ben", networkHz: 20, ...options });
  for (const world of [walker, watcher]) {
    world.on("error", ({ error, retryInMs }) =>
      console.error(`${error.message}${retryInMs === undefined ? "" : "; again soon"}`),
    );
  }

  // The walker's positions on the server: by its own steps, and by the world's.
  /** @type {Map<number, Place>} */
  const bySteps = new Map();
  /** @type {Map<number, Place>} */
  const byTicks = new Map();
  walker.on("snapshot", ({ tick, ackedInputSequence, moved }) => {
    const own = walker.avatar;
    if (own === undefined || ackedInputSequence === 0) return;
    if (!moved.includes(own) && tick - own.tick < STILL_STEPS) return;
    const { prediction: predictor } = walker.display;
    if (predictor === undefined) return;
    const step = predictor.step + (((ackedInputSequence - predictor.step) << 16) >> 16);
    bySteps.set(step, [...own.position]);
    byTicks.set(tick, [...own.position]);
  });
  await within(JOIN_MS, () => walker.avatar !== undefined && watcher.entities.has(walker.avatar.id));
  const { id: avatar } = await walker.joined;
  const predictor = await predictionOf(walker);

  const pose = createPose();
  /** @type {Frame[]} */
  const ownFrames = [];
  /** @type {Frame[]} */
  const othersFrames = [];
  /** @type {Record<"jumps" | "keyFrames" | "keyMs" | "delays" | "costUs", number[]>} */
  const found = { jumps: [], keyFrames: [], keyMs: [], delays: [], costUs: [] };
  let input = STILL;
  let changeAtMs = 0;
  /** @type {{ frames: number, readonly atMs: number, readonly from: Place } | undefined} */
  let key;
  /** @type {{ readonly position: Place, readonly nowMs: number } | undefined} */
  let before;
  const startMs = performance.now();
  const endMs = startMs + SETTLE_MS + seconds * 1000;
  for (;;) {
    await nextFrame();
    const nowMs = performance.now();
    if (nowMs > endMs) break;
    const counts = nowMs > startMs + SETTLE_MS;
    if (counts && nowMs > changeAtMs) {
      const wasStill = input === STILL;
      input = next(random, before?.position ?? [0, 0, 0], extent);
      changeAtMs = nowMs + (input === STILL ? 400 : 150) + random() * 700;
      if (wasStill && input !== STILL && before !== undefined && predictor.offsetM === 0) {
        key = { frames: 0, atMs: nowMs, from: before.position };
      }
    }
    const offsetM = predictor.offsetM;
    const beganMs = performance.now();
    walker.input(input);
    walker.frame(nowMs);
    const isShown = walker.pose(avatar, pose) && walker.display.isPredicted;
    if (counts) found.costUs.push((performance.now() - beganMs) * 1000);
    if (isShown) {
      /** @type {Place} */
      const position = placeOf(pose);
      if (counts) {
        ownFrames.push({ moment: predictor.moment, position });
        const glide = Math.max(0, offsetM - predictor.offsetM);
        const level = before
          ? Math.hypot(position[0] - before.position[0], position[2] - before.position[2])
          : 0;
        const excess = before ? Math.max(0, level - (RUN_SPEED * (nowMs - before.nowMs)) / 1000) : 0;
        found.jumps.push(Math.max(glide, excess));
      }
      if (key !== undefined) {
        key.frames++;
        if (distance(position, key.from) > CHANGED_M) {
          found.keyFrames.push(key.frames);
          found.keyMs.push(performance.now() - key.atMs);
          key = undefined;
        }
      }
      before = { position, nowMs };
    }
    watcher.frame(nowMs);
    if (counts && watcher.pose(avatar, pose)) {
      othersFrames.push({ moment: watcher.display.tick, position: placeOf(pose) });
      found.delays.push(watcher.display.delayMs);
    }
  }
  // The last packets in flight have the server's final positions.
  await new Promise((resolve) => setTimeout(resolve, 500));
  const { corrections, skippedSteps } = predictor;
  const carrier = walker.stats.link?.carrier ?? "none";
  walker.close();
  watcher.close();
  return {
    ...found,
    ownErrors: errors(ownFrames, bySteps),
    othersErrors: errors(othersFrames, byTicks),
    corrections,
    skippedSteps,
    carrier,
  };
}

/** @returns {import("nowcast/world").Pose} */
export function createPose() {
  return { position: { x: 0, y: 0, z: 0 }, quaternion: { x: 0, y: 0, z: 0, w: 1 } };
}

/**
 * @param {import("nowcast/world").Pose} pose
 * @returns {Place}
 */
export function placeOf({ position: { x, y, z } }) {
  return [x, y, z];
}

/**
 * Draws frames until the local avatar is predicted.
 *
 * @param {import("nowcast/world").World} world
 */
export async function predictionOf(world) {
  await within(JOIN_MS, () => {
    world.frame(performance.now());
    return world.display.prediction;
  });
  return /** @type {NonNullable<import("nowcast/world").Display["prediction"]>} */ (world.display.prediction);
}

/**
 * Waits until a condition holds, and throws if it takes longer.
 *
 * @param {number} ms
 * @param {() => unknown} condition
 */
export async function within(ms, condition) {
  const end = performance.now() + ms;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`no player joined the room within ${ms} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/**
 * Walks, runs, jumps and stands, and avoids the edge of the ground.
 *
 * @param {() => number} random
 * @param {Readonly<Place>} place
 * @param {number} extent
 * @returns {Input}
 */
function next(random, [x, , z], extent) {
  if (random() < 0.25) return STILL;
  const isFar = Math.hypot(x, z) > extent * 0.6;
  const yaw = isFar ? Math.atan2(x, z) : random() * 2 * Math.PI - Math.PI;
  return {
    forward: 1,
    right: isFar ? 0 : Math.floor(random() * 3) - 1,
    yaw,
    run: random() < 0.5,
    jump: random() < 0.15,
  };
}

/**
 * Distance of each frame's pose from the server's at that moment. Frames without a known server pose do not count.
 *
 * @param {readonly Frame[]} frames
 * @param {ReadonlyMap<number, Readonly<Place>>} places
 */
export function errors(frames, places) {
  const known = [...places].sort(([a], [b]) => a - b);
  /** @type {number[]} */
  const found = [];
  let at = 0;
  for (const { moment, position } of frames) {
    while ((known[at + 1]?.[0] ?? Number.POSITIVE_INFINITY) <= moment) at++;
    const [earlier, later] = [known[at], known[at + 1]];
    if (earlier === undefined || later === undefined) continue;
    const [[from, start], [to, end]] = [earlier, later];
    if (from > moment || to - from > STEPS_BETWEEN_MAX) continue;
    const share = (moment - from) / (to - from);
    /** @type {(axis: 0 | 1 | 2) => number} */
    const along = (axis) => start[axis] + (end[axis] - start[axis]) * share;
    found.push(distance(position, [along(0), along(1), along(2)]));
  }
  return found;
}

/**
 * @param {Readonly<Place>} a
 * @param {Readonly<Place>} b
 */
function distance(a, b) {
  return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

/**
 * Returns a generator of random numbers from 0 to 1. The same `start` gives the same numbers.
 *
 * @param {number} start
 */
export function mulberry32(start) {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
