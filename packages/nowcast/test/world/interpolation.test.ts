import { describe, expect, it, vi } from "vitest";
import { Emitter } from "../../src/events/emitter.js";
import type { Entity, EntityId, PlayerId, WorldEvents } from "../../src/world/index.js";
import { Interpolator, type InterpolatorClock } from "../../src/world/interpolation/interpolation.js";
import { angleBetween } from "../../src/world/interpolation/rotation.js";
import type { PosedWorld } from "../../src/world/posed-world.js";
import { createPoseBuffer } from "../../src/world/poses/layer.js";
import { mulberry32 } from "./random.js";

const STEP_MS = 1000 / 60;
const FRAME_MS = 1000 / 60;
/** Recorded worlds have times of their own, not those of this machine's clock. */
const RECORDED = { earliestMs: (readMs: number): number => readMs };

/** A world that moves one body along x at 3 m/s while it turns, received over a link with the given delays. */
class RecordedWorld {
  readonly stepHz = 60;
  readonly emitter = new Emitter<WorldEvents>();
  readonly entities = new Map<EntityId, Entity>();
  readonly body = entity(7);

  constructor() {
    this.entities.set(this.body.id, this.body);
  }

  on<K extends keyof WorldEvents>(type: K, listener: (event: WorldEvents[K]) => void): () => void {
    return this.emitter.on(type, listener);
  }

  welcome(tick: number): void {
    const playerId = 1 as PlayerId;
    const welcome = { playerId, isResumed: false, room: "test", world: "test" };
    this.emitter.emit("welcome", { ...welcome, stepHz: 60, networkHz: 10, tick });
  }

  snapshot(tick: number, receivedAtMs: number, moves = true): void {
    if (moves) place(this.body, tick, (tick / 60) * 3);
    this.emitter.emit("snapshot", {
      tick,
      receivedAtMs,
      moved: moves ? [this.body] : [],
      ackedInputSequence: 0,
    });
  }
}

function interpolatorOf(world: RecordedWorld, clock: InterpolatorClock): Interpolator {
  return new Interpolator(world as unknown as PosedWorld, clock);
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

function entity(id: number): Entity {
  return {
    id: id as EntityId,
    kind: { name: "body", body: {}, walker: undefined, look: undefined, attributes: [], owner: undefined },
    scale: [1, 1, 1],
    parent: undefined,
    attributes: {},
    owner: undefined,
    position: [0, 0, 0],
    quaternion: [0, 0, 0, 1],
    tick: 0,
  };
}

function turnedBy(yaw: number): [number, number, number, number] {
  return [0, Math.sin(yaw / 2), 0, Math.cos(yaw / 2)];
}

function place(target: Entity, tick: number, x: number): void {
  const mutable = target as Mutable<Entity>;
  mutable.position = [x, 0, 0];
  mutable.tick = tick;
}

/** The curve from 0 to 1 that starts at rest and arrives at constant speed. */
function risen(share: number): number {
  const t = Math.min(1, Math.max(0, share));
  return t * t * (2 - t);
}

interface Frame {
  readonly nowMs: number;
  readonly x: number;
  readonly delayMs: number;
}

/** Plays `seconds` of snapshots every `ticks` steps through a link with delays from `delayMs`. */
function play(
  world: RecordedWorld,
  interpolator: Interpolator,
  { seconds, ticks, delayMs }: { seconds: number; ticks: number; delayMs: () => number },
): Frame[] {
  const arrivals: { tick: number; atMs: number }[] = [];
  let lastMs = 0;
  for (let tick = 0; tick <= seconds * 60; tick += ticks) {
    // The link is TCP, so a late snapshot delays the snapshots behind it.
    lastMs = Math.max(lastMs, tick * STEP_MS + delayMs());
    arrivals.push({ tick, atMs: lastMs });
  }
  const frames: Frame[] = [];
  const pose = createPoseBuffer();
  let next = 0;
  for (let nowMs = 0; nowMs < seconds * 1000; nowMs += FRAME_MS) {
    while (next < arrivals.length && arrivals[next]!.atMs <= nowMs) {
      world.snapshot(arrivals[next]!.tick, arrivals[next]!.atMs);
      next++;
    }
    interpolator.sample(nowMs);
    interpolator.place(world.body.id, pose);
    frames.push({ nowMs, x: pose.position[0]!, delayMs: interpolator.delayMs });
  }
  return frames;
}

/** Speeds between frames after the first two seconds, in which the interpolator measures the link. */
function settledSpeeds(frames: readonly Frame[]): number[] {
  const speeds: number[] = [];
  for (let i = 1; i < frames.length; i++) {
    if (frames[i]!.nowMs > 2000) speeds.push(((frames[i]!.x - frames[i - 1]!.x) / FRAME_MS) * 1000);
  }
  return speeds;
}

describe("interpolation", () => {
  it("moves evenly through ten snapshots a second on a steady link, one interval behind", () => {
    const world = new RecordedWorld();
    const interpolator = interpolatorOf(world, RECORDED);
    world.welcome(0);
    const frames = play(world, interpolator, { seconds: 8, ticks: 6, delayMs: () => 40 });
    for (const speed of settledSpeeds(frames)) expect(speed).toBeCloseTo(3, 1);
    expect(frames.at(-1)!.delayMs).toBeGreaterThan(100);
    expect(frames.at(-1)!.delayMs).toBeLessThan(115);
  });

  it.each([1, 2, 3, 4, 5])("hardly ever stops under 60 ms of jitter (seed %i)", (seed) => {
    const random = mulberry32(seed);
    const world = new RecordedWorld();
    const interpolator = interpolatorOf(world, RECORDED);
    world.welcome(0);
    const frames = play(world, interpolator, { seconds: 30, ticks: 6, delayMs: () => 20 + random() * 60 });
    const speeds = settledSpeeds(frames);
    const stopped = speeds.filter((speed) => speed < 1).length;
    expect(stopped / speeds.length).toBeLessThan(0.01);
    expect(Math.min(...speeds)).toBeGreaterThanOrEqual(0);
    // The speed never exceeds the maximum speed-up of the clock, except in the step after a stop.
    expect(speeds.filter((speed) => speed > 3 * 1.15).length / speeds.length).toBeLessThan(0.01);
    expect(frames.at(-1)!.delayMs).toBeLessThan(180);
  });

  it("comes closer to the present when snapshots come more often", () => {
    const world = new RecordedWorld();
    const interpolator = interpolatorOf(world, RECORDED);
    world.welcome(0);
    const frames = play(world, interpolator, { seconds: 8, ticks: 1, delayMs: () => 40 });
    expect(frames.at(-1)!.delayMs).toBeLessThan(30);
  });

  it("starts a resting entity at its position, without sliding from its last motion", () => {
    const world = new RecordedWorld();
    const interpolator = interpolatorOf(world, RECORDED);
    world.welcome(0);
    const pose = createPoseBuffer();
    for (let tick = 0; tick <= 600; tick += 6) {
      // It rests at 0 until step 594 and is 1 m away in the next snapshot.
      place(world.body, tick === 600 ? 600 : world.body.tick, tick === 600 ? 1 : 0);
      const moved = tick === 0 || tick === 600 ? [world.body] : [];
      world.emitter.emit("snapshot", { tick, receivedAtMs: tick * STEP_MS, moved, ackedInputSequence: 0 });
      interpolator.sample(tick * STEP_MS);
    }
    for (let nowMs = 10_000; nowMs < 10_300; nowMs += 5) {
      interpolator.sample(nowMs);
      if (interpolator.tick >= 600) break;
      interpolator.place(world.body.id, pose);
      expect(pose.position[0]).toBeCloseTo(risen((interpolator.tick - 594) / 6), 9);
    }
    expect(pose.position[0]).toBeGreaterThan(0.9);
  });

  it("uses a session's information on when an entity rested, before its own interpolation", () => {
    const world = new RecordedWorld();
    const interpolator = interpolatorOf(world, RECORDED);
    world.welcome(0);
    for (let tick = 0; tick <= 60; tick += 6) {
      // The packets of steps 48 and 54 are lost. The packet of step 60 states that the body rested until step 45.
      const isLast = tick === 60;
      place(world.body, isLast ? 60 : 0, isLast ? 1 : 0);
      (world.body as Mutable<Entity>).stillTick = isLast ? 45 : undefined;
      const moved = tick === 0 || isLast ? [world.body] : [];
      world.emitter.emit("snapshot", { tick, receivedAtMs: tick * STEP_MS, moved, ackedInputSequence: 0 });
      interpolator.sample(tick * STEP_MS);
    }
    const pose = createPoseBuffer();
    for (let nowMs = 1_000; nowMs < 1_300; nowMs += 5) {
      interpolator.sample(nowMs);
      if (interpolator.tick >= 60) break;
      interpolator.place(world.body.id, pose);
      expect(pose.position[0]).toBeCloseTo(risen((interpolator.tick - 45) / 15), 9);
    }
    expect(pose.position[0]).toBeGreaterThan(0.9);
  });

  it("jumps with a teleported entity, and continues smoothly from there", () => {
    const world = new RecordedWorld();
    const interpolator = interpolatorOf(world, RECORDED);
    world.welcome(0);
    const pose = createPoseBuffer();
    for (let tick = 0; tick <= 60; tick += 6) world.snapshot(tick, tick * STEP_MS);
    interpolator.sample(1_000);
    world.emitter.emit("change", { entity: world.body, names: ["color"], parts: [] });
    interpolator.place(world.body.id, pose);
    expect(pose.position[0]).toBeLessThan(3);
    place(world.body, 60, 100);
    world.emitter.emit("change", { entity: world.body, names: [], parts: ["place"] });
    interpolator.place(world.body.id, pose);
    expect(pose.position[0]).toBe(100);
  });

  const jumps = [0.5, 1, 3.9, 8, 15].flatMap((metres) =>
    [3, 6, 15].flatMap((ticks) => [false, true].map((isLossy) => ({ metres, ticks, isLossy }))),
  );
  it.each(jumps)("shows no place between those of a jump: %o", ({ metres, ticks, isLossy }) => {
    const world = new RecordedWorld();
    const interpolator = interpolatorOf(world, RECORDED);
    world.welcome(0);
    const pose = createPoseBuffer();
    const seen = new Set<boolean>();
    let hasJumped = false;
    const jumpFrames: number[] = [];
    let firstThere = Number.NaN;
    for (let tick = 0; tick < 600; tick++) {
      // With loss, the snapshots around the jump at step 300 are lost, and the display waits for the next one.
      if (tick % ticks === 0 && !(isLossy && Math.abs(tick - 300) <= 2 * ticks)) {
        const isThere = tick >= 300;
        // The entity is set again in the steps that follow.
        place(world.body, tick, isThere ? metres + tick * 0.001 : 0);
        (world.body as Mutable<Entity>).hasJumped = isThere && !hasJumped;
        hasJumped = isThere;
        const moved = [world.body];
        world.emitter.emit("snapshot", { tick, receivedAtMs: tick * STEP_MS, moved, ackedInputSequence: 0 });
      }
      interpolator.sample(tick * STEP_MS);
      interpolator.place(world.body.id, pose);
      const x = pose.position[0]!;
      expect(x === 0 || x >= metres, `${x} m is between`).toBe(true);
      seen.add(x === 0);
      if (interpolator.hasJumped(world.body.id)) jumpFrames.push(tick);
      if (x !== 0 && Number.isNaN(firstThere)) firstThere = tick;
    }
    expect(seen.size).toBe(2);
    expect(jumpFrames).toEqual([firstThere]);
  });

  it.each([
    1, 20, 45,
  ])("shows the present again within a second after its clock stood still for %i s", (sleptS) => {
    const world = new RecordedWorld();
    const interpolator = interpolatorOf(world, RECORDED);
    world.welcome(0);
    const pose = createPoseBuffer();
    const delays: number[] = [];
    for (let sent = 0; sent < 150; sent++) {
      const nowMs = sent * 100;
      // The page sleeps after 5 s: 60 steps pass for each second of its sleep.
      const tick = sent * 6 + (sent < 50 ? 0 : sleptS * 60);
      world.snapshot(tick, nowMs);
      interpolator.sample(nowMs);
      interpolator.place(world.body.id, pose);
      if (sent >= 60) delays.push(((tick / 60) * 3 - pose.position[0]!) / 3);
    }
    expect(Math.min(...delays)).toBeGreaterThan(0);
    expect(Math.max(...delays)).toBeLessThan(0.15);
  });

  it("extrapolates for a tenth of a second without data, reports its age, and then stops", () => {
    const world = new RecordedWorld();
    const interpolator = interpolatorOf(world, RECORDED);
    world.welcome(0);
    for (let tick = 0; tick <= 60; tick += 6) {
      world.snapshot(tick, tick * STEP_MS);
      interpolator.sample(tick * STEP_MS);
    }
    const pose = createPoseBuffer();
    for (let nowMs = 1_000; nowMs < 2_000; nowMs += 5) {
      interpolator.sample(nowMs);
      interpolator.place(world.body.id, pose);
      const x = 3 * Math.min(1.1, interpolator.tick / 60);
      expect(pose.position[0]).toBeCloseTo(x, 6);
    }
    expect(interpolator.ageMs(world.body.id)).toBeCloseTo(995, -1);
  });

  /**
   * Plays snapshots every 3 steps; `isHeard` selects the snapshots that contain the body. Returns its steps
   * from frame to frame.
   */
  function speedsOf(isHeard: (round: number) => boolean): {
    readonly speeds: number[];
    readonly ageMs: number;
  } {
    const world = new RecordedWorld();
    const interpolator = interpolatorOf(world, RECORDED);
    world.welcome(0);
    const pose = createPoseBuffer();
    const speeds: number[] = [];
    let [heard, x] = [0, 0];
    for (let round = 0; round < 400; round++) {
      const tick = round * 3;
      const moves = isHeard(round);
      if (moves) {
        (world.body as Mutable<Entity>).stillTick = heard;
        heard = tick;
      }
      world.snapshot(tick, tick * STEP_MS, moves);
      for (let frame = 0; frame < 3; frame++) {
        interpolator.sample((tick + frame) * STEP_MS);
        interpolator.place(world.body.id, pose);
        speeds.push((pose.position[0]! - x) / STEP_MS);
        x = pose.position[0]!;
      }
    }
    return {
      speeds: speeds.map((speed) => speed * 1000).slice(300),
      ageMs: interpolator.ageMs(world.body.id),
    };
  }

  it("shows a distant entity that is sent every second round as evenly as others, a round later", () => {
    const near = speedsOf(() => true);
    const far = speedsOf((round) => round % 2 === 0);
    for (const { speeds } of [near, far]) {
      expect(Math.min(...speeds)).toBeGreaterThan(2.9);
      expect(Math.max(...speeds)).toBeLessThan(3.1);
    }
    expect(far.ageMs - near.ageMs).toBeCloseTo(50, 0);
  });

  it("shows nothing later because one packet was lost", () => {
    const [whole, lossy] = [speedsOf(() => true), speedsOf((round) => round % 20 !== 7)];
    expect(lossy.ageMs).toBeCloseTo(whole.ageMs, 6);
  });

  it("does not take a page that draws three frames a second for a slow network", () => {
    const world = new RecordedWorld();
    let free = (): void => undefined;
    const whenFree = (callback: () => void): void => {
      free = callback;
    };
    const interpolator = interpolatorOf(world, { ...RECORDED, whenFree });
    world.welcome(0);
    let next = 0;
    for (let frameMs = 0; frameMs < 20_000; frameMs += 333) {
      interpolator.sample(frameMs);
      // All snapshots that arrived in the meantime are read after the frame.
      for (; next * STEP_MS <= frameMs + 333; next += 3) world.snapshot(next, frameMs + 333);
      free();
    }
    expect(interpolator.delayMs).toBeLessThan(150);
  });

  it("keeps its delay on a page that reads waiting snapshots slowly in sequence", () => {
    const world = new RecordedWorld();
    let free = (): void => undefined;
    const interpolator = interpolatorOf(world, {
      ...RECORDED,
      whenFree: (callback) => {
        free = callback;
      },
    });
    const clock = vi.spyOn(performance, "now");
    world.welcome(0);
    let next = 0;
    for (let frameMs = 0; frameMs < 20_000; frameMs += 250) {
      interpolator.sample(frameMs);
      clock.mockReturnValue(frameMs + 150);
      free();
      // Each snapshot that arrived in the meantime takes the page seven milliseconds.
      for (let readMs = frameMs + 155; next * STEP_MS <= frameMs + 150; next += 3, readMs += 7) {
        world.snapshot(next, readMs);
      }
    }
    clock.mockRestore();
    expect(interpolator.delayMs).toBeLessThan(170);
  });

  it.each([1, 3, 10, 20])("keeps its delay and its pace after a stream stalled for %i s", (stallS) => {
    const world = new RecordedWorld();
    const interpolator = interpolatorOf(world, { ...RECORDED, whenFree: (callback) => callback() });
    world.welcome(0);
    const stall = { fromMs: 5_000, toMs: 5_000 + 1_000 * stallS };
    const delays: number[] = [];
    let [next, before, leap] = [0, 0, 0];
    for (let nowMs = 0; nowMs < stall.toMs + 4_000; nowMs += STEP_MS) {
      const isStalled = nowMs >= stall.fromMs && nowMs < stall.toMs;
      for (; !isStalled && next * STEP_MS + 40 <= nowMs; next += 3) world.snapshot(next, nowMs);
      interpolator.sample(nowMs);
      if (nowMs > stall.fromMs) leap = Math.max(leap, Math.abs(interpolator.tick - before - 1));
      before = interpolator.tick;
      if (nowMs > stall.toMs + 500) delays.push(interpolator.delayMs);
    }
    expect(delays.length).toBeGreaterThan(100);
    expect(Math.max(...delays)).toBeLessThan(130);
    // Number of world steps that one frame skips in addition to its own step.
    expect(leap).toBeLessThan(1);
  });

  /**
   * Returns the largest distance between two frames after a stall, and the body's distance from its true place half a
   * second later, in metres.
   */
  function afterStall(stallS: number): { readonly leapM: number; readonly errorM: number } {
    const world = new RecordedWorld();
    const interpolator = interpolatorOf(world, { ...RECORDED, whenFree: (callback) => callback() });
    world.welcome(0);
    const stall = { fromMs: 5_000, toMs: 5_000 + 1_000 * stallS };
    const pose = createPoseBuffer();
    let [next, before, leapM] = [0, 0, 0];
    for (let nowMs = 0; nowMs < stall.toMs + 500; nowMs += STEP_MS) {
      const isStalled = nowMs >= stall.fromMs && nowMs < stall.toMs;
      for (; !isStalled && next * STEP_MS + 40 <= nowMs; next += 3) world.snapshot(next, nowMs);
      interpolator.sample(nowMs);
      interpolator.place(world.body.id, pose);
      if (nowMs > stall.fromMs) leapM = Math.max(leapM, Math.abs(pose.position[0]! - before));
      before = pose.position[0]!;
    }
    return { leapM, errorM: Math.abs(before - (interpolator.tick / 60) * 3) };
  }

  it("glides_to_its_place_after_a_stall_and_does_not_leap", () => {
    const { leapM, errorM } = afterStall(1);
    // At 3 m/s the gap is 2.7 m wide: a jump would cross it in one frame.
    expect(leapM).toBeGreaterThan(0.1);
    expect(leapM).toBeLessThan(0.3);
    expect(errorM).toBeLessThan(0.05);
  });

  it("leaps_to_a_place_too_far_to_glide_to_after_a_long_stall", () => {
    const { leapM, errorM } = afterStall(20);
    expect(leapM).toBeGreaterThan(50);
    expect(errorM).toBeLessThan(0.05);
  });

  it("takes the delay of a slower path after two seconds", () => {
    const world = new RecordedWorld();
    const interpolator = interpolatorOf(world, { ...RECORDED, whenFree: (callback) => callback() });
    world.welcome(0);
    let next = 0;
    for (let nowMs = 0; nowMs < 12_000; nowMs += STEP_MS) {
      const pathMs = nowMs < 5_000 ? 40 : 700;
      for (; next * STEP_MS + pathMs <= nowMs; next += 3) world.snapshot(next, nowMs);
      interpolator.sample(nowMs);
    }
    expect(interpolator.tick * STEP_MS).toBeGreaterThan(12_000 - 700 - 150);
    expect(interpolator.tick).toBeLessThan(next);
  });

  it("turns the short way round at an even rate", () => {
    const world = new RecordedWorld();
    const interpolator = interpolatorOf(world, RECORDED);
    world.welcome(0);
    const turned = world.body as Mutable<Entity>;
    turned.quaternion = turnedBy(3);
    world.snapshot(0, 0);
    turned.quaternion = turnedBy(-3);
    world.snapshot(6, 100);
    const [start, end, middle] = [turnedBy(3), turnedBy(-3), new Float64Array(4)];
    const pose = { ...createPoseBuffer(), quaternion: middle };
    interpolator.sample(100);
    interpolator.sample(100 + interpolator.delayMs - 50);
    interpolator.place(world.body.id, pose);
    const t = interpolator.tick / 6;
    expect(t).toBeGreaterThan(0);
    expect(t).toBeLessThan(1);
    const whole = 2 * Math.PI - 6;
    expect(angleBetween(start, middle)).toBeCloseTo(whole * t, 6);
    expect(angleBetween(middle, end)).toBeCloseTo(whole * (1 - t), 6);
  });

  it("forgets the old server's clock when another one welcomes it", () => {
    const world = new RecordedWorld();
    const interpolator = interpolatorOf(world, RECORDED);
    world.welcome(0);
    play(world, interpolator, { seconds: 4, ticks: 6, delayMs: () => 40 });
    world.emitter.emit("despawn", { entity: world.body, reason: "gone" });
    expect(interpolator.place(world.body.id, createPoseBuffer())).toBe(false);
    world.welcome(1_000_000);
    world.emitter.emit("spawn", { entity: world.body });
    world.snapshot(1_000_000, 5000);
    interpolator.sample(5016);
    expect(interpolator.tick).toBeCloseTo(1_000_000, -2);
  });

  it("shows the current state after a minute in a background tab, without replaying it", () => {
    const world = new RecordedWorld();
    const interpolator = interpolatorOf(world, RECORDED);
    world.welcome(0);
    for (let tick = 0; tick <= 3600; tick += 6) world.snapshot(tick, tick * STEP_MS);
    const pose = createPoseBuffer();
    interpolator.sample(60_000);
    interpolator.place(world.body.id, pose);
    expect(pose.position[0]!).toBeGreaterThan(179);
  });
});
