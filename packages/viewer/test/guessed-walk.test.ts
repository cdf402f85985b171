import { expect, it } from "vitest";
import { GuessedWalk } from "../src/avatar/guessed-walk.js";

const FRAME_S = 1 / 60;
const DELAY_S = 0.2;
const STEP_M = 3.2 * FRAME_S;
const GAIT = { walkSpeed: 3.2, runSpeed: 6.4, acceleration: 42 };
const FORWARD = { forward: 1, right: 0, yaw: 0, run: false, jump: false };
const free = (): number => Number.POSITIVE_INFINITY;

/** Yields frames of a player who walks along −Z for a second and then stops. The server does the same later. */
function* walk(guess: GuessedWalk) {
  let server = 0;
  const frames = Math.round(DELAY_S / FRAME_S);
  const paths: number[] = [];
  for (let frame = 0; frame < 150; frame++) {
    const isWalking = frame < 60;
    guess.update(FRAME_S, isWalking ? FORWARD : undefined, GAIT, DELAY_S, free);
    paths.push(isWalking ? STEP_M : 0);
    server -= paths[frame - frames] ?? 0;
    yield { frame, server, shown: server + guess.z };
  }
}

it("shows a step long before the server's answer, and no jump when that comes", () => {
  const guess = new GuessedWalk();
  let before = 0;
  for (const { frame, server, shown } of walk(guess)) {
    if (frame === 6) {
      expect(server).toBe(0);
      expect(shown).toBeLessThan(-0.05);
    }
    // This server starts and stops without acceleration, so the two differ by a step for a moment.
    expect(Math.abs(before - shown - (frame < 60 ? STEP_M : 0))).toBeLessThan(1.05 * STEP_M);
    before = shown;
  }
  expect(guess.z).toBeCloseTo(0);
});

it("stops in front of an obstacle", () => {
  const guess = new GuessedWalk();
  for (let frame = 0; frame < 60; frame++) guess.update(FRAME_S, FORWARD, GAIT, DELAY_S, () => 0.1);
  expect(guess.z).toBeCloseTo(-0.1);
  expect(guess.x).toBeCloseTo(0);
});

it("goes where the controls say, however the eyes turn", () => {
  const guess = new GuessedWalk();
  const right = { ...FORWARD, forward: 0, right: 1, yaw: Math.PI / 2 };
  for (let frame = 0; frame < 60; frame++) guess.update(FRAME_S, right, GAIT, DELAY_S, free);
  expect(guess.x).toBeCloseTo(0);
  expect(guess.z).toBeCloseTo(-3.2 * DELAY_S, 1);
  guess.reset();
  expect(guess.z).toBe(0);
});

it("leads as far as this kind of walker goes, and no farther", () => {
  const guess = new GuessedWalk();
  const tortoise = { walkSpeed: 0.5, runSpeed: 1, acceleration: 42 };
  for (let frame = 0; frame < 60; frame++) {
    guess.update(FRAME_S, { ...FORWARD, run: true }, tortoise, DELAY_S, free);
  }
  expect(guess.z).toBeCloseTo(-1 * DELAY_S, 1);
});
