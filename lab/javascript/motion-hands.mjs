// A player with a headset waves its hands, and another player watches. Both use the SDK as pages do. The head, the
// hands and their joints are sent as the viewer's page sends them. The script is the same in Node and in a page:
// `motion.mjs` runs it in either.
import { joinWorld } from "nowcast/world";
import { errors, mulberry32, within } from "./motion-walk.mjs";

/** @typedef {import("./motion-walk.mjs").Frame} Frame */
/** @typedef {import("./motion-walk.mjs").Place} Place */

const JOIN_MS = 20_000;
const SETTLE_MS = 2_000;
/** Intervals of poses and joints, and bytes of joints, as in `packages/page/src/xr/presence.ts`. */
const MOVE_MS = 33;
const JOINTS_MS = 83;
const JOINTS_BYTES = 63;
const AFTER_MS = 500;

/**
 * Compares the displayed hands with the server's, and counts the bytes.
 *
 * @param {import("./motion-walk.mjs").Plan} plan
 */
export async function hands({ address, seconds, seed, carriers, nextFrame }) {
  const random = mulberry32(seed);
  const options = carriers === undefined ? {} : { carriers };
  const wearer = joinWorld(address, { name: "Ada", networkHz: 60, ...options });
  const watcher = joinWorld(address, { name: "Ben", networkHz: 20, ...options });
  for (const world of [wearer, watcher]) world.on("error", ({ error }) => console.error(error.message));
  try {
    await within(JOIN_MS, () => wearer.avatar !== undefined && watcher.entities.has(wearer.avatar.id));
    const { position } = await wearer.joined;
    /** @type {Place} */
    const body = [...position];
    const parts = await Promise.all(
      ["head", "hand", "hand"].map(async (kind, side) => {
        const place = poseAt(body, side, 0);
        const attributes = kind === "hand" ? { left: side === 1 } : {};
        const id = await wearer.spawn(kind, {
          position: place.position,
          quaternion: place.quaternion,
          attributes,
        });
        const truth = /** @type {Map<number, Place>} */ (new Map());
        return { id, side, truth, frames: /** @type {Frame[]} */ ([]) };
      }),
    );
    wearer.on("snapshot", ({ tick, moved }) => {
      for (const { id, truth } of parts) {
        const entity = wearer.entities.get(id);
        if (entity !== undefined && moved.includes(entity)) truth.set(tick, [...entity.position]);
      }
    });
    await within(JOIN_MS, () => parts.every(({ id }) => watcher.entities.has(id)));

    const pose = { position: { x: 0, y: 0, z: 0 }, quaternion: { x: 0, y: 0, z: 0, w: 1 } };
    /** @type {Record<"delays" | "bytesPerSecond", number[]>} */
    const found = { delays: [], bytesPerSecond: [] };
    const startMs = performance.now();
    let [movedMs, jointsMs, countedMs] = [0, 0, startMs + SETTLE_MS];
    for (;;) {
      await nextFrame();
      const nowMs = performance.now();
      if (nowMs > startMs + SETTLE_MS + seconds * 1000) break;
      if (nowMs - movedMs >= MOVE_MS) {
        movedMs = nowMs;
        for (const { id, side } of parts) wearer.move(id, poseAt(body, side, nowMs / 1000));
      }
      if (nowMs - jointsMs >= JOINTS_MS) {
        jointsMs = nowMs;
        for (const { id } of parts.slice(1)) {
          wearer.set(id, { joints: Uint8Array.from({ length: JOINTS_BYTES }, () => random() * 256) });
        }
      }
      watcher.frame(nowMs);
      if (nowMs < startMs + SETTLE_MS) continue;
      found.delays.push(watcher.display.delayMs);
      for (const { id, frames } of parts) {
        if (watcher.pose(id, pose)) {
          const { x, y, z } = pose.position;
          frames.push({ moment: watcher.display.tick, position: [x, y, z] });
        }
      }
      if (nowMs - countedMs < 1000) continue;
      countedMs = nowMs;
      found.bytesPerSecond.push(watcher.stats.bytesPerSecond);
    }
    await new Promise((resolve) => setTimeout(resolve, AFTER_MS));
    /** @type {(some: typeof parts) => number[]} */
    const of = (some) => some.flatMap(({ frames, truth }) => errors(frames, truth));
    return {
      ...found,
      headErrors: of(parts.slice(0, 1)),
      handErrors: of(parts.slice(1)),
      carrier: watcher.stats.link?.carrier ?? "none",
    };
  } finally {
    wearer.close();
    watcher.close();
  }
}

/**
 * A head that nods, and hands that wave and reach at most one and a half times a second; with their velocities.
 *
 * @param {Readonly<Place>} body
 * @param {number} side
 * @param {number} atS
 */
function poseAt([x, y, z], side, atS) {
  /** @type {(s: number) => Place} */
  const place = (s) =>
    side === 0
      ? [x + 0.05 * Math.sin(3 * s), y + 0.7 + 0.03 * Math.sin(5 * s), z]
      : [
          x + (side === 1 ? -0.3 : 0.3) + 0.15 * Math.sin(4 * s + side),
          y + 0.3 + 0.25 * Math.sin(9 * s + 2 * side),
          z - 0.4 + 0.15 * Math.sin(2.3 * s),
        ];
  const [now, soon] = [place(atS), place(atS + 0.001)];
  const turn = 0.5 * Math.sin(4 * atS);
  /** @type {import("nowcast/world").Quaternion} */
  const quaternion = [0, Math.sin(turn / 2), 0, Math.cos(turn / 2)];
  /** @type {(axis: 0 | 1 | 2) => number} */
  const speed = (axis) => (soon[axis] - now[axis]) * 1000;
  return { position: now, quaternion, velocity: /** @type {Place} */ ([speed(0), speed(1), speed(2)]) };
}
