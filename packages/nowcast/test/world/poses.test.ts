/** The one source of poses: the local avatar, entities on it, and step functions of a page. */
import { afterEach, expect, it, vi } from "vitest";
import { Emitter } from "../../src/events/emitter.js";
import type { PosedWorld } from "../../src/world/posed-world.js";
import type { PoseBuffer } from "../../src/world/poses/layer.js";
import { Poses } from "../../src/world/poses/poses.js";
import { AvatarPrediction } from "../../src/world/prediction/avatar-prediction.js";
import { WalkerPrediction } from "../../src/world/prediction/walker-prediction.js";
import type {
  AvatarMotion,
  AvatarMotions,
  Entity,
  EntityId,
  Input,
  PlayerId,
  Pose,
  WorldEvents,
} from "../../src/world/world.js";
import { entityOf, kind, STILL } from "./prediction-rig.js";
import { mulberry32 } from "./random.js";

const [AVATAR, BLOCK, BALL, FLAG] = [1, 2, 3, 4] as EntityId[] as [EntityId, EntityId, EntityId, EntityId];
const STEP_MS = 1000 / 60;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

afterEach(() => {
  vi.restoreAllMocks();
});

/** A world of four entities at x = their id, whose server is the test. */
class FakeWorld {
  readonly emitter = new Emitter<WorldEvents>();
  readonly entities = new Map<EntityId, Mutable<Entity>>();
  readonly avatarId = AVATAR;

  get avatar(): Entity {
    return this.entities.get(AVATAR)!;
  }

  readonly status = "open";
  readonly connection = "steady";
  readonly definition = undefined;
  readonly stats = { pingMs: 0 };
  readonly stepHz = 60;
  /** The newest step of the client, and its input. */
  newest: readonly [number, Input] | undefined;

  constructor(avatarKind = kind("car", [1, 1, 1])) {
    for (const id of [AVATAR, BLOCK, BALL, FLAG]) {
      this.entities.set(id, entityOf(id, id === AVATAR ? avatarKind : kind("thing", [1, 1, 1]), [id, 0, 0]));
    }
    this.entities.get(FLAG)!.parent = AVATAR;
  }

  readonly on = <K extends keyof WorldEvents>(type: K, listener: (event: WorldEvents[K]) => void) =>
    this.emitter.on(type, listener);

  inputAtStep(number: number, changes: readonly Input[]): boolean {
    this.newest = [number, changes[0]!];
    return true;
  }

  welcome(): void {
    const of = { playerId: 1 as PlayerId, isResumed: false, room: "test", world: "test" };
    this.emitter.emit("welcome", { ...of, stepHz: 60, networkHz: 60, tick: 0 });
  }

  snapshot(tick: number, ackedInputSequence: number, x: number, nowMs: number): void {
    const moved = [this.entities.get(AVATAR)!, this.entities.get(FLAG)!];
    for (const entity of moved) {
      entity.position = [x + entity.id - AVATAR, 0, 0];
      entity.tick = tick;
    }
    this.emitter.emit("snapshot", { tick, receivedAtMs: nowMs, moved, ackedInputSequence });
  }
}

/** The poses of a world, with a prediction if there are motions or `true` is given. */
function posesOf(world: FakeWorld, motions?: AvatarMotions): Poses {
  const posed = world as unknown as PosedWorld;
  const poses = new Poses(posed, { earliestMs: (readMs) => readMs, whenFree: (callback) => callback() });
  if (motions) poses.predict(new AvatarPrediction(posed, motions));
  return poses;
}

/** The poses of a walking avatar, whose predicted pose `write` changes. */
function predictAvatar(write: (pose: PoseBuffer) => void): { poses: Poses; world: FakeWorld } {
  const world = new FakeWorld({ ...kind("person", [1, 1, 1]), walker: {} });
  vi.spyOn(WalkerPrediction.prototype, "pose").mockImplementation((pose) => {
    const { position, quaternion } = world.avatar;
    pose.position.set(position);
    pose.quaternion.set(quaternion);
    write(pose);
  });
  return { poses: posesOf(world, {}), world };
}

function createPose(): Pose {
  return { position: { x: 0, y: 0, z: 0 }, quaternion: { x: 0, y: 0, z: 0, w: 1 } };
}

function placeOf(poses: Poses, id: EntityId): number[] {
  const pose = createPose();
  expect(poses.pose(id, pose)).toBe(true);
  const { x, y, z } = pose.position;
  return [x, y, z, pose.quaternion.y].map((part) => Math.round(part * 1e9) / 1e9 + 0);
}

it("an attached entity turns with the shown avatar around its centre", () => {
  const { poses } = predictAvatar(({ quaternion }) => {
    quaternion[1] = Math.SQRT1_2;
    quaternion[3] = Math.SQRT1_2;
  });
  poses.frame(16);
  // The flag is three metres beside the avatar along x; a quarter turn to the left puts it along -z.
  expect(placeOf(poses, FLAG)).toEqual([AVATAR, 0, -(FLAG - AVATAR), Math.round(Math.SQRT1_2 * 1e9) / 1e9]);
  poses.close();
});

it("an attached entity keeps its distance while the avatar turns by a third between two snapshots", () => {
  const { poses, world } = predictAvatar(() => {});
  const [avatar, flag] = [world.entities.get(AVATAR)!, world.entities.get(FLAG)!];
  const errors: number[] = [];
  for (let tick = 1; tick <= 40; tick++) {
    const yaw = tick * 2;
    for (const entity of [avatar, flag]) {
      entity.quaternion = [0, Math.sin(yaw / 2), 0, Math.cos(yaw / 2)];
      entity.tick = tick * 3;
    }
    // Positions of the protocol are rounded.
    flag.position = [
      avatar.position[0] + Math.round(3 * Math.cos(yaw) * 1024) / 1024,
      0,
      Math.round(-3 * Math.sin(yaw) * 1024) / 1024,
    ];
    world.emitter.emit("snapshot", {
      tick: tick * 3,
      receivedAtMs: tick * 50,
      moved: [avatar, flag],
      ackedInputSequence: 0,
    });
    for (let frame = 0; frame < 3; frame++) {
      poses.frame(tick * 50 + frame * STEP_MS);
      const pose = createPose();
      const [ax, , az] = placeOf(poses, AVATAR);
      poses.pose(FLAG, pose);
      if (tick > 4) errors.push(Math.abs(Math.hypot(pose.position.x - ax!, pose.position.z - az!) - 3));
    }
  }
  expect(errors.length).toBeGreaterThan(100);
  expect(Math.max(...errors)).toBeLessThan(0.001);
  poses.close();
});

/** Regression test: for a tenth of a second, a rider at 100 m/s was shown up to 8 m from its cart. */
it("an attached entity that comes into sight later than its fast parent is shown on it at once", () => {
  const world = new FakeWorld();
  const poses = posesOf(world);
  const [parent, child] = [world.entities.get(AVATAR)!, world.entities.get(FLAG)!];
  const distances: number[] = [];
  for (let tick = 1; tick <= 20; tick++) {
    parent.position = [tick * 5, 0, 0];
    parent.tick = tick * 3;
    const isInSight = tick > 10;
    if (isInSight) Object.assign(child, { position: [tick * 5 + 3, 0, 0], tick: tick * 3 });
    const moved = isInSight ? [parent, child] : [parent];
    world.emitter.emit("snapshot", { tick: tick * 3, receivedAtMs: tick * 50, moved, ackedInputSequence: 0 });
    for (let frame = 0; frame < 3; frame++) {
      poses.frame(tick * 50 + frame * STEP_MS);
      if (isInSight) distances.push(Math.abs(placeOf(poses, FLAG)[0]! - placeOf(poses, AVATAR)[0]! - 3));
    }
  }
  expect(distances).toHaveLength(30);
  expect(Math.max(...distances)).toBeLessThan(0.3);
  poses.close();
});

it("poses without prediction leave the input to the world", () => {
  const world = new FakeWorld();
  const poses = posesOf(world);
  poses.frame(16);
  expect(poses.prediction).toBeUndefined();
  expect(world.newest).toBeUndefined();
  expect(poses.isPredicted).toBe(false);
  poses.close();
});

interface Car {
  readonly x: number;
  readonly speed: number;
}

/** A car that gains 6 m/s in a second. */
const DRIVE: AvatarMotion<Car> = {
  read: ({ position }, predicted) => ({ x: position[0], speed: predicted?.speed ?? 0 }),
  step: ({ x, speed }, { forward }) => {
    const next = speed + (forward * 6) / 60;
    return { x: x + next / 60, speed: next };
  },
  pose: ({ x }, { position }: Pose) => {
    position.x = x;
    position.y = position.z = 0;
  },
};

/** Plays the frames of a second, with a server that takes the same steps six steps later, pushed by `push` metres once. */
function drive(push: number): { errors: number[]; shown: number[]; poses: Poses } {
  const world = new FakeWorld();
  const poses = posesOf(world, { car: DRIVE as AvatarMotion });
  world.welcome();
  let server: Car = { x: AVATAR, speed: 0 };
  const inputs = new Map<number, Input>();
  const [errors, shown]: [number[], number[]] = [[], []];
  poses.frame(0);
  const first = world.newest![0];
  for (let frame = 1; frame <= 120; frame++) {
    const input = { ...STILL, forward: frame < 60 ? 1 : -0.5 };
    expect(poses.prediction!.input(input)).toBe(true);
    inputs.set(first + frame, input);
    poses.frame(frame * STEP_MS + 1);
    shown.push(placeOf(poses, AVATAR)[0]!);
    const step = first + frame - 6;
    if (step <= first) continue;
    server = DRIVE.step(server, inputs.get(step)!);
    if (frame === 60) server = { ...server, x: server.x + push };
    world.snapshot(frame, step & 0xffff, server.x, frame * STEP_MS + 1);
    let ahead = server;
    for (let at = step + 1; at <= first + frame; at++) ahead = DRIVE.step(ahead, inputs.get(at)!);
    errors.push(Math.abs(shown.at(-1)! - ahead.x));
  }
  return { errors, shown, poses };
}

it("an avatar with a step function is shown at once where its steps lead", () => {
  const { errors, shown, poses } = drive(0);
  expect(poses.isPredicted).toBe(true);
  expect(shown.length).toBe(120);
  // A frame lies at most one step of 6 m/s after the newest whole step.
  expect(Math.max(...errors)).toBeLessThan(0.11);
  // The place on the avatar is a mean of received places, which are rounded.
  expect(placeOf(poses, FLAG)[0]).toBeCloseTo(placeOf(poses, AVATAR)[0]! + FLAG - AVATAR, 3);
  poses.close();
});

it("an avatar with a step function glides to the server's pose after a push", () => {
  const { errors, shown, poses } = drive(0.5);
  const jumps = shown.slice(1).map((x, at) => Math.abs(x - shown[at]!));
  // The push of half a metre is spread over frames, and the prediction then agrees with the server again.
  expect(Math.max(...jumps)).toBeLessThan(0.25);
  expect(errors.at(-1)).toBeLessThan(0.11);
  poses.close();
});

it("a new avatar keeps the direction in which the world placed it until the page gives an input", () => {
  const walker = { ...kind("person", [1, 1, 1]), walker: {} };
  const world = new FakeWorld(walker);
  world.entities.get(AVATAR)!.quaternion = [0, Math.sin(0.5), 0, Math.cos(0.5)];
  const poses = posesOf(world, {});
  world.welcome();
  poses.frame(performance.now());
  expect(world.newest?.[1].yaw).toBeCloseTo(1, 2);
  poses.prediction!.input({ ...STILL, yaw: -2 });
  poses.frame(performance.now() + 3 * STEP_MS);
  expect(world.newest?.[1].yaw).toBeCloseTo(-2, 2);
  poses.close();
});

it.each([21, 70])("a rider is drawn on its cart at %i m/s, whichever of their updates are lost", (speed) => {
  const world = new FakeWorld();
  // The cart carries the block, and the block carries the ball.
  const [cart, block, ball] = [AVATAR, BLOCK, BALL].map((id) => world.entities.get(id)!) as [
    Mutable<Entity>,
    Mutable<Entity>,
    Mutable<Entity>,
  ];
  block.parent = AVATAR;
  ball.parent = BLOCK;
  const random = mulberry32(3);
  const poses = posesOf(world);
  let worst = 0;
  for (let tick = 3; tick < 900; tick += 3) {
    const yaw = tick / 60;
    const moved = [cart, block, ball].filter(() => tick < 30 || random() > 0.05);
    for (const entity of moved) {
      const beside = (entity.id - AVATAR) * 1.5;
      entity.quaternion = [0, Math.sin(yaw / 2), 0, Math.cos(yaw / 2)];
      entity.position = [(tick / 60) * speed + beside * Math.cos(yaw), 1, -beside * Math.sin(yaw)];
      entity.tick = tick;
    }
    const snapshot = { tick, receivedAtMs: tick * STEP_MS, moved, ackedInputSequence: 0 };
    world.emitter.emit("snapshot", snapshot);
    for (let frame = 0; frame < 3; frame++) {
      poses.frame((tick + frame) * STEP_MS);
      if (tick < 60) continue;
      const at = createPose();
      poses.pose(AVATAR, at);
      const { x, z } = at.position;
      const turn = 2 * Math.atan2(at.quaternion.y, at.quaternion.w);
      for (const id of [BLOCK, BALL]) {
        const beside = (id - AVATAR) * 1.5;
        const [dx, , dz] = placeOf(poses, id) as [number, number, number];
        worst = Math.max(
          worst,
          Math.hypot(dx - x - beside * Math.cos(turn), dz - z + beside * Math.sin(turn)),
        );
      }
    }
  }
  expect(worst).toBeLessThan(0.05);
  poses.close();
});
