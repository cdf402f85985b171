// A player rides platforms, walks over hills, leaps and carries a ball, and another player watches. Both use the SDK as
// pages do. The script is the same in Node and in a page: `motion.mjs` runs it in either.
import { joinWorld } from "nowcast/world";
import { createPose, errors, mulberry32, placeOf, predictionOf, within } from "./motion-walk.mjs";

/** @typedef {import("./motion-walk.mjs").Frame} Frame */
/** @typedef {import("./motion-walk.mjs").Place} Place */
/** @typedef {import("nowcast/world").Input} Input */

const JOIN_MS = 20_000;
/** Time after the way to a part of the course before figures count, and after the last frame. */
const SETTLE_MS = 2_000;
const AFTER_MS = 500;
const STILL_STEPS = 24;
/** Two actions are this far apart in time. */
const ACTION_MS = 2_200;
/** An avatar or a ball that moved this far shows the effect of an action, in metres. */
const MOVED_M = 0.005;
/** Time after which a grabbed ball has reached the hands on all links. */
const GRABBED_MS = 1_500;
/** Width of the place on a platform on which the player walks, in metres. */
const STAND_M = 1.5;
/** Half the width of the hills on which the player walks, in metres. */
const HILLS_M = 20;
/** A platform with a smaller z belongs to the straight track, in metres. */
const BETWEEN_M = 15;
/** @type {Input} */
const STILL = { forward: 0, right: 0, yaw: 0, run: false, jump: false };

/** The place of the flag beside its carrier, in `worlds/course/world.luau`. */
const FLAG = /** @type {const} */ ([0.4, 0.9, 0.3]);
/** The place of a held ball, in the same file. */
const HANDS = /** @type {const} */ ([0, 0.1, -0.85]);

const PARTS = /** @type {const} */ (["track", "shuttle", "hills", "leap", "hold"]);

/**
 * Compares the displayed poses with the server's on each part of the course.
 *
 * @param {import("./motion-walk.mjs").Plan} plan
 */
export async function course({ address, seconds, seed, carriers, nextFrame }) {
  const random = mulberry32(seed);
  const options = carriers === undefined ? {} : { carriers };
  const rider = joinWorld(address, { name: "Ada", networkHz: 60, ...options });
  const watcher = joinWorld(address, { name: "Ben", networkHz: 20, ...options });
  for (const world of [rider, watcher]) world.on("error", ({ error }) => console.error(error.message));
  /** @type {Map<number, Place>} */
  const bySteps = new Map();
  /** @type {Map<number, Place>} */
  const byTicks = new Map();
  // The same beside the platforms of both parts, which move in each step.
  /** @type {Record<string, Map<number, Place>>} */
  const beside = { track: new Map(), shuttle: new Map() };
  rider.on("snapshot", ({ tick, ackedInputSequence, moved }) => {
    const own = rider.avatar;
    if (own === undefined || ackedInputSequence === 0) return;
    if (!moved.includes(own) && tick - own.tick < STILL_STEPS) return;
    const { prediction: predictor } = rider.display;
    if (predictor === undefined) return;
    const step = predictor.step + (((ackedInputSequence - predictor.step) << 16) >> 16);
    bySteps.set(step, [...own.position]);
    byTicks.set(tick, [...own.position]);
    for (const [part, places] of Object.entries(beside)) {
      const platform = platformOf(rider, part);
      if (platform !== undefined && moved.includes(platform) && moved.includes(own)) {
        places.set(step, minus(own.position, platform.position));
      }
    }
  });
  const flagOf = () => [...rider.entities.values()].find(({ parent }) => parent === rider.avatar?.id);
  const isReady = () =>
    rider.avatar && watcher.entities.has(rider.avatar.id) && flagOf() && nearestBall(rider);
  await within(JOIN_MS, isReady);
  const { id: avatar } = await rider.joined;
  const predictor = await predictionOf(rider);
  const flag = /** @type {import("nowcast/world").Entity} */ (flagOf());
  const ball = /** @type {import("nowcast/world").Entity} */ (nearestBall(rider)).id;

  const pose = createPose();
  const flagPose = createPose();
  /** @type {Record<"flagErrors" | "heldErrors", number[]>} */
  const found = { flagErrors: [], heldErrors: [] };
  /** @type {Record<string, { frames: number[], ms: number[] }>} */
  const actions = {};
  for (const name of ["leap", "grab", "drop"]) actions[name] = { frames: [], ms: [] };
  /**
   * Returns the place that an action changes: a leap changes the avatar's height, a grab the ball's position, and a drop the
   * ball's position relative to the avatar.
   *
   * @param {string} action
   * @returns {Place}
   */
  const changedBy = (action) => {
    if (action === "leap") return [0, pose.position.y, 0];
    if (!rider.pose(ball, flagPose)) throw new Error("the ball is not shown");
    return action === "grab" ? placeOf(flagPose) : minus(placeOf(flagPose), placeOf(pose));
  };
  /** @type {Record<string, { own: Frame[], others: Frame[], riding: Frame[], corrections: number }>} */
  const parts = {};
  for (const part of PARTS) {
    const own = /** @type {Frame[]} */ ([]);
    const others = /** @type {Frame[]} */ ([]);
    const riding = /** @type {Frame[]} */ ([]);
    await rider.act("go", { to: part });
    const startMs = performance.now();
    const countsMs = startMs + SETTLE_MS;
    let corrections = predictor.corrections;
    let [input, changeAtMs, actAtMs] = [STILL, countsMs, countsMs];
    let grabbedMs = Number.POSITIVE_INFINITY;
    /** @type {{ readonly name: string, frames: number, readonly atMs: number, readonly from: Place } | undefined} */
    let action;
    for (;;) {
      await nextFrame();
      const nowMs = performance.now();
      const counts = nowMs > countsMs;
      if (nowMs > countsMs + (seconds * 1000) / PARTS.length) break;
      if (!counts) corrections = predictor.corrections;
      if (counts && nowMs > changeAtMs && part !== "leap") {
        input = next(random, part, fromMiddle(placeOf(pose), rider, part));
        changeAtMs = nowMs + 200 + random() * 600;
      }
      if (counts && (part === "leap" || part === "hold") && nowMs > actAtMs) {
        actAtMs = nowMs + ACTION_MS;
        const holds = grabbedMs !== Number.POSITIVE_INFINITY;
        const name = part === "leap" ? "leap" : holds ? "drop" : "grab";
        action = { name, frames: 0, atMs: nowMs, from: changedBy(name) };
        grabbedMs = name === "grab" ? nowMs : Number.POSITIVE_INFINITY;
        // A refused action would be an error of the world.
        rider
          .act(name, name === "grab" ? { ball } : {})
          .catch((/** @type {Error} */ error) => console.error(error.message));
      }
      rider.input(input);
      rider.frame(nowMs);
      if (!rider.pose(avatar, pose)) continue;
      if (action !== undefined) {
        action.frames++;
        if (distance(changedBy(action.name), action.from) > MOVED_M) {
          actions[action.name]?.frames.push(action.frames);
          actions[action.name]?.ms.push(performance.now() - action.atMs);
          action = undefined;
        }
      }
      if (nowMs > grabbedMs + GRABBED_MS && rider.pose(ball, flagPose)) {
        found.heldErrors.push(distance(placeOf(flagPose), placeBeside(pose, HANDS)));
      }
      if (counts && rider.display.isPredicted) {
        own.push({ moment: predictor.moment, position: placeOf(pose) });
        const platform = platformOf(rider, part);
        if (platform !== undefined && rider.pose(platform.id, flagPose)) {
          riding.push({ moment: predictor.moment, position: minus(placeOf(pose), placeOf(flagPose)) });
        }
        if (rider.pose(flag.id, flagPose)) {
          found.flagErrors.push(distance(placeOf(flagPose), placeBeside(pose, FLAG)));
        }
      }
      watcher.frame(nowMs);
      if (counts && watcher.pose(avatar, pose)) {
        others.push({ moment: watcher.display.tick, position: placeOf(pose) });
      }
      rider.pose(avatar, pose);
    }
    // The next way begins in the step of the last frame.
    own.pop();
    riding.pop();
    parts[part] = { own, others, riding, corrections: predictor.corrections - corrections };
  }
  // The last packets in flight have the server's final positions.
  await new Promise((resolve) => setTimeout(resolve, AFTER_MS));
  const carrier = rider.stats.link?.carrier ?? "none";
  rider.close();
  watcher.close();
  return {
    ...found,
    actions: Object.entries(actions).map(([name, { frames, ms }]) => ({ name, frames, ms })),
    parts: PARTS.map((name) => ({
      name,
      ownErrors: errors(parts[name]?.own ?? [], bySteps),
      othersErrors: errors(parts[name]?.others ?? [], byTicks),
      besideErrors: errors(parts[name]?.riding ?? [], beside[name] ?? new Map()),
      corrections: parts[name]?.corrections ?? 0,
    })),
    carrier,
  };
}

/**
 * The place of the shown avatar beside the middle of the platform, or of the hills.
 *
 * @param {Readonly<Place>} position
 * @param {import("nowcast/world").World} world
 * @param {string} part
 * @returns {[x: number, z: number]}
 */
function fromMiddle([x, , z], world, part) {
  const shown = createPose();
  const platform = platformOf(world, part);
  if (platform === undefined || !world.pose(platform.id, shown)) return [x, z];
  return [x - shown.position.x, z - shown.position.z];
}

/**
 * The platform of a part of the course; `undefined` for the others.
 *
 * @param {import("nowcast/world").World} world
 * @param {string} part
 */
function platformOf(world, part) {
  if (part !== "track" && part !== "shuttle") return undefined;
  for (const entity of world.entities.values()) {
    const isOnTrack = entity.position[2] < BETWEEN_M;
    if (entity.kind.name === "platform" && isOnTrack === (part === "track")) return entity;
  }
  return undefined;
}

/**
 * @param {Readonly<Place>} a
 * @param {Readonly<Place>} b
 * @returns {Place}
 */
function minus(a, b) {
  return [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
}

/**
 * Stands, walks and runs, and returns before the edge. On platforms, three of four turns are rests.
 *
 * @param {() => number} random
 * @param {string} part
 * @param {readonly [x: number, z: number]} place
 * @returns {Input}
 */
function next(random, part, [x, z]) {
  const isHills = part === "hills";
  const isFar = Math.hypot(x, z) > (isHills ? HILLS_M : STAND_M);
  /** @type {[number, number, number]} */
  const draws = [random(), random(), random()];
  // A held ball turns with the avatar.
  if (part === "hold") return { ...STILL, yaw: draws[1] * 6 - 3 };
  if (isFar) return { ...STILL, forward: 1, yaw: Math.atan2(x, z) };
  if (draws[0] < (isHills ? 0.2 : 0.75)) return STILL;
  return {
    ...STILL,
    forward: 1,
    yaw: draws[1] * 6 - 3,
    run: isHills && draws[2] < 0.5,
    jump: isHills && draws[2] > 0.85,
  };
}

/**
 * The ball beside which the own avatar began.
 *
 * @param {import("nowcast/world").World} world
 */
function nearestBall({ avatar, entities }) {
  if (avatar === undefined) return undefined;
  const balls = [...entities.values()].filter(({ kind }) => kind.name === "ball");
  const away = (/** @type {import("nowcast/world").Entity} */ entity) =>
    distance(entity.position, avatar.position);
  return balls.sort((a, b) => away(a) - away(b))[0];
}

/**
 * The place of something that a shown avatar carries.
 *
 * @param {import("nowcast/world").Pose} avatar
 * @param {Readonly<Place>} offset
 * @returns {Place}
 */
function placeBeside({ position: { x, y, z }, quaternion: { y: turn, w } }, [right, up, back]) {
  const [sine, cosine] = [2 * turn * w, 1 - 2 * turn * turn];
  return [x + cosine * right + sine * back, y + up, z + cosine * back - sine * right];
}

/**
 * @param {Readonly<Place>} a
 * @param {Readonly<Place>} b
 */
function distance(a, b) {
  return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}
