import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { AdjustedGait, readWalker } from "../../src/world/describe/walker.js";
import { bodyPartsOf, solidOf } from "../../src/world/prediction/body-solids.js";
import { type Gait, Mover, quantiseYaw } from "../../src/world/prediction/mover.js";
import { Solid } from "../../src/world/prediction/solid.js";
import type { Input } from "../../src/world/world.js";

const f = Math.fround;
const STEPS = 40;
const ADJUSTED_STEPS = 80;
const PERSON: Gait = {
  height: f(1.8),
  radius: f(0.35),
  walkSpeed: f(3.2),
  runSpeed: f(6.4),
  groundAcceleration: 42,
  airAcceleration: 10,
  jumpSpeed: f(4.95),
  gravity: f(9.81),
};

const vectors = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../../../spec/vectors/movement/${name}`, import.meta.url), "utf8"));

/** The generator of the vectors, as defined in `spec/MOVEMENT.md`. */
class Random {
  #state: number;

  constructor(walk: number) {
    this.#state = (Math.imul(walk, 2_654_435_761) | 1) >>> 0;
  }

  next(): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x >>> 0;
    return this.#state;
  }

  within(low: number, high: number): number {
    const share = (this.next() >>> 8) / 16_777_216;
    return f(f(low) + f(f(f(high) - f(low)) * share));
  }

  three(low: number, high: number): [number, number, number] {
    return [this.within(low, high), this.within(low, high), this.within(low, high)];
  }

  solid(): Solid {
    const form = this.next() % 4;
    const [x, y, z] = this.three(-3, 3);
    const center = [x, f(f(y + 3) * 0.25), z];
    const half = this.three(0.1, 1);
    const unturned = [0, 0, 0, 1];
    if (form === 0) return solid(center, unturned, half, 0);
    if (form === 1) return solid(center, unturned, [0, half[1], 0], half[0]);
    if (form === 2) return solid(center, unturned, [0, 0, 0], half[0]);
    return solid(center, this.turn(), half, 0);
  }

  turn(): number[] {
    const [a, b, c] = this.three(-1, 1);
    const w = this.within(0.1, 1);
    const length = f(Math.sqrt(f(f(f(f(a * a) + f(b * b)) + f(c * c)) + f(w * w))));
    return [f(a / length), f(b / length), f(c / length), f(w / length)];
  }

  scene(): { solids: Solid[]; mover: Mover } {
    const solids = [solid([0, -0.5, 0], [0, 0, 0, 1], [20, 0.5, 20], 0)];
    for (let i = 0; i < 5; i++) solids.push(this.solid());
    const [x, y, z] = this.three(-3, 3);
    const mover = new Mover();
    mover.restart(x, f(1 + f(f(y + 3) * 0.25)), z);
    return { solids, mover };
  }

  input(): Input {
    const [forward, right, turn] = this.three(-1, 1);
    const buttons = this.next();
    return {
      forward,
      right,
      yaw: quantiseYaw(f(turn * f(Math.PI))),
      run: (buttons & 0x100) !== 0,
      jump: (buttons & 0x600) === 0,
    };
  }
}

function solid(center: number[], rotation: number[], half: readonly number[], radius: number): Solid {
  const made = new Solid();
  made.place(center, rotation);
  made.half.set(half);
  made.radius = radius;
  return made;
}

const words = new Float32Array(6);
const bits = new Uint32Array(words.buffer);

function walkHash(walk: number): number {
  const random = new Random(walk);
  const { solids, mover } = random.scene();
  let input: Input = { forward: 0, right: 0, yaw: 0, run: false, jump: false };
  let hash = 0x811c9dc5;
  for (let step = 0; step < STEPS; step++) {
    if (step % 8 === 0) input = random.input();
    mover.step(PERSON, input, solids);
    words.set([mover.px, mover.py, mover.pz, mover.vx, mover.vy, mover.vz]);
    for (const word of bits) hash = Math.imul(hash ^ word, 0x01000193);
  }
  return hash >>> 0;
}

const GROUND_STEPS = 120;

function groundHash(walk: number, solids: readonly Solid[]): string {
  const random = new Random(walk);
  const mover = new Mover();
  const [x, y, z] = random.three(-2, 2);
  mover.restart(x, f(2 + f(f(y + 2) * 0.25)), z);
  let input: Input = { forward: 0, right: 0, yaw: 0, run: false, jump: false };
  let hash = 0x811c9dc5;
  for (let step = 0; step < GROUND_STEPS; step++) {
    if (step % 8 === 0) input = random.input();
    mover.step(PERSON, input, solids);
    words.set([mover.px, mover.py, mover.pz, mover.vx, mover.vy, mover.vz]);
    for (const word of bits) hash = Math.imul(hash ^ word, 0x01000193);
  }
  return (hash >>> 0).toString(16).padStart(8, "0");
}

const SECONDS = f(1 / 60);

/** One ride of the vectors: section 8. */
function rideHash(ride: number): string {
  const random = new Random(ride);
  const floor = solid([0, -3.5, 0], [0, 0, 0, 1], [20, 0.5, 20], 0);
  const [x, y, z] = random.three(-1, 1);
  const mover = new Mover();
  mover.restart(x, f(1 + f(f(y + 1) * 0.25)), z);
  let [turnY, turnW, spin] = [0, 1, 0];
  const center = [0, -0.5, 0];
  const platform = solid(center, [0, 0, 0, 1], [6, 0.5, 6], 0);
  platform.moves = true;
  let input: Input = { forward: 0, right: 0, yaw: 0, run: false, jump: false };
  let hash = 0x811c9dc5;
  for (let step = 0; step < GROUND_STEPS; step++) {
    if (step % 30 === 0) {
      const [vx, vy, vz] = random.three(-3, 3);
      platform.velocity.set([vx, f(vy * 0.25), vz]);
      spin = random.within(-2, 2);
      platform.spin.set([0, spin, 0]);
    }
    if (step % 8 === 0) input = random.input();
    for (let axis = 0; axis < 3; axis++)
      center[axis] = f(center[axis]! + f(platform.velocity[axis]! * SECONDS));
    const half = f(f(spin * SECONDS) * 0.5);
    const [wasY, wasW] = [turnY, turnW];
    turnY = f(f(half * wasW) + wasY);
    turnW = f(wasW - f(half * wasY));
    const length = f(Math.sqrt(f(f(turnY * turnY) + f(turnW * turnW))));
    [turnY, turnW] = [f(turnY / length), f(turnW / length)];
    platform.place(center, [0, turnY, 0, turnW]);
    platform.pivot.set(center);
    mover.step(PERSON, input, [floor, platform]);
    words.set([mover.px, mover.py, mover.pz, mover.vx, mover.vy, mover.vz]);
    for (const word of bits) hash = Math.imul(hash ^ word, 0x01000193);
  }
  return (hash >>> 0).toString(16).padStart(8, "0");
}

/** One adjusted walk of the vectors: `spec/MOVEMENT.md`, section 8. */
function adjustedHash(walk: number): string {
  const random = new Random(walk);
  const { solids, mover } = random.scene();
  const walker = readWalker({ adjustable: true });
  const adjusted = new AdjustedGait();
  let gait: Gait = walker;
  let input: Input = { forward: 0, right: 0, yaw: 0, run: false, jump: false };
  let hash = 0x811c9dc5;
  for (let step = 0; step < ADJUSTED_STEPS; step++) {
    if (step % 8 === 0) input = random.input();
    if (step % 16 === 0) {
      const [speed, jump] = [(random.next() % 161) / 64, (random.next() % 161) / 64];
      gait = adjusted.of(walker, { speed, jump, frozen: (random.next() & 0x700) === 0 });
    }
    mover.step(gait, input, solids);
    words.set([mover.px, mover.py, mover.pz, mover.vx, mover.vy, mover.vz]);
    for (const word of bits) hash = Math.imul(hash ^ word, 0x01000193);
  }
  return (hash >>> 0).toString(16).padStart(8, "0");
}

/** One walk of the vectors on ladders and in water: `spec/MOVEMENT.md`, section 8. */
function mediaHash(walk: number): string {
  const random = new Random(walk);
  const unturned = [0, 0, 0, 1];
  const floor = solid([0, -3.5, 0], unturned, [20, 0.5, 20], 0);
  const center = random.three(-2, 2);
  const board = solid(center, random.turn(), [0.5, 1.5, f(0.05)], 0);
  const pole = solid(random.three(-2, 2), unturned, [0, 1.5, 0], f(0.2));
  const drop = solid(random.three(-2, 2), unturned, [0, 0, 0], 1);
  const lake = solid([0, -2, 0], unturned, [20, 1, 20], 0);
  board.role = pole.role = "ladder";
  drop.role = lake.role = "water";
  const [x, y, z] = random.three(-2, 2);
  const mover = new Mover();
  mover.restart(x, f(1 + f(f(y + 2) * 0.25)), z);
  let input: Input = { forward: 0, right: 0, yaw: 0, run: false, jump: false };
  let hash = 0x811c9dc5;
  for (let step = 0; step < GROUND_STEPS; step++) {
    if (step % 8 === 0) input = random.input();
    mover.step(PERSON, input, [floor, board, pole, drop, lake]);
    words.set([mover.px, mover.py, mover.pz, mover.vx, mover.vy, mover.vz]);
    for (const word of bits) hash = Math.imul(hash ^ word, 0x01000193);
  }
  return (hash >>> 0).toString(16).padStart(8, "0");
}

it("climbs ladders and swims like the server, to the last bit", () => {
  const { walks } = vectors("media.json");
  expect(walks).toHaveLength(400);
  for (const [walk, hash] of walks.entries()) expect(mediaHash(walk), `walk ${walk}`).toBe(hash);
});

it("rides the moving platforms of the specification to the last bit", () => {
  const { rides } = vectors("rides.json");
  expect(rides).toHaveLength(400);
  for (const [ride, hash] of rides.entries()) expect(rideHash(ride), `ride ${ride}`).toBe(hash);
});

it("walks the walks that the specification spells out", () => {
  for (const { walk, start, steps } of vectors("walks.json")) {
    const random = new Random(walk);
    const { solids, mover } = random.scene();
    expect([mover.px, mover.py, mover.pz]).toEqual(start.map(f));
    for (const [at, { input, position, velocity }] of steps.entries()) {
      if (at % 8 === 0) random.input();
      const [forward, right, yaw, run, jump] = input;
      mover.step(PERSON, { forward: f(forward), right: f(right), yaw: f(yaw), run, jump }, solids);
      expect([mover.px, mover.py, mover.pz], `walk ${walk}, step ${at}`).toEqual(position.map(f));
      expect([mover.vx, mover.vy, mover.vz], `walk ${walk}, step ${at}`).toEqual(velocity.map(f));
    }
  }
});

it("walks with changing speeds, and frozen, like the server to the last bit", () => {
  const { walks } = vectors("adjusted.json");
  expect(walks).toHaveLength(400);
  for (const [walk, hash] of walks.entries()) expect(adjustedHash(walk), `walk ${walk}`).toBe(hash);
});

it("walks ten thousand random walks like the server, to the last bit", () => {
  const hashes: string[] = vectors("hashes.json").walks;
  expect(hashes).toHaveLength(10_000);
  const differing = hashes.flatMap((hash, walk) => {
    return walkHash(walk).toString(16).padStart(8, "0") === hash ? [] : [walk];
  });
  expect(differing).toEqual([]);
});

it("walks on bodies of every shape like the server, to the last bit", () => {
  const { grounds } = vectors("grounds.json");
  const shapes = new Set(grounds.map(({ body }: { body: { shape: string } }) => body.shape));
  expect(shapes).toEqual(
    new Set(["box", "sphere", "capsule", "cylinder", "cone", "hull", "mesh", "heights", "compound"]),
  );
  for (const { name, body, scale, position, rotation, walks } of grounds) {
    const kind = { name, body, walker: undefined, look: undefined, attributes: [], owner: undefined };
    const solids = bodyPartsOf({ kind, scale }).map(solidOf);
    for (const part of solids) part.place(position, rotation);
    const around = [solid([0, -3.5, 0], [0, 0, 0, 1], [20, 0.5, 20], 0), ...solids];
    expect(walks.length, name).toBeGreaterThan(30);
    expect(
      walks.map((_: string, walk: number) => groundHash(walk, around)),
      name,
    ).toEqual(walks);
  }
});

it("quantises any yaw like the server, to the last bit", () => {
  const yaws: [number, number][] = vectors("yaws.json").yaws;
  expect(yaws.length).toBeGreaterThan(400);
  const differing = yaws.filter(([yaw, parts]) => !Object.is(quantiseYaw(yaw), parts / 8192));
  expect(differing).toEqual([]);
  expect(Math.abs(quantiseYaw(3e38))).toBeLessThanOrEqual(f(Math.PI));
});
