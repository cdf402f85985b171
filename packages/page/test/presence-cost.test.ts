/** Traffic that a person with a headset causes for each spectator: a real server, two real clients, and hands that never rest. */
import { fileURLToPath } from "node:url";
import { joinWorld, type World } from "nowcast/world";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ServerProcess } from "../../nowcast/test/server-process.js";
import { waitFor } from "../../nowcast/test/wait-for.js";
import { HAND_JOINTS } from "../../three/src/people/tracked/hand-pose.js";
import { curlHand } from "../../three/src/people/tracked/hand-shape.js";
import { trackedPartOf } from "../../three/src/people/tracked/tracked-kinds.js";
import { createPose } from "../../three/src/pose.js";
import { type PartState, Presence } from "../src/xr/presence.js";

const BYTES_PER_SECOND_MAX = 4096;
const PLAYGROUND = fileURLToPath(new URL("../../../worlds/playground", import.meta.url));

let server: ServerProcess;
const worlds: World[] = [];

beforeAll(async () => {
  server = await ServerProcess.start(0, [PLAYGROUND]);
});

afterAll(async () => {
  for (const world of worlds) world.close();
  await server?.stop();
});

async function join(name: string): Promise<World> {
  const world = joinWorld(`nowcast://localhost:${server.port}/playground-hands`, { name });
  worlds.push(world);
  await world.ready;
  return world;
}

/** A part that circles around a place, and bends its fingers. */
function moving(world: World, seconds: number, offset: number): PartState {
  const [x, y, z] = world.entities.get(world.avatarId!)!.position;
  const phase = seconds * 5 + offset;
  const [right, up] = [offset + 0.2 * Math.sin(phase), 0.2 + 0.2 * Math.cos(phase)];
  const pose = createPose(x + right, y + up, z - 0.3, (2 * phase) / 3);
  const rotations = new Float32Array(HAND_JOINTS * 4);
  const grip = 0.5 + 0.5 * Math.sin(phase);
  curlHand(grip, false, rotations);
  return { pose, velocity: [Math.cos(phase), -Math.sin(phase), 0], grip, rotations, size: 1 };
}

it("takes less than 4 kB a second, with all fingers of both hands moving", async () => {
  const [ada, ben] = [await join("Ada"), await join("Ben")];
  await waitFor("both avatars", () => ben.entities.has(ada.avatarId!) && ada.entities.has(ada.avatarId!));
  const presence = new Presence(ada);
  const head = (seconds: number): PartState => ({ ...moving(ada, seconds, 0), rotations: undefined });
  const frames = setInterval(() => {
    const nowMs = performance.now();
    const seconds = nowMs / 1000;
    presence.update(nowMs, head(seconds), moving(ada, seconds, -0.3), moving(ada, seconds, 0.3));
  }, 1000 / 72);
  const parts = () => [...ben.entities.values()].filter(({ kind }) => trackedPartOf(kind) !== undefined);
  await waitFor("a head and two hands", () => parts().length === 3);
  await waitFor("fingers", () =>
    parts().some(({ attributes }) => attributes["joints"] instanceof Uint8Array),
  );

  const rates: number[] = [];
  let moves = 0;
  const release = ben.on("snapshot", ({ moved }) => {
    moves += moved.filter(({ kind }) => trackedPartOf(kind) !== undefined).length;
    if (moves > 60) rates.push(ben.stats.bytesPerSecond);
  });
  await waitFor("a few seconds of it", () => rates.length > 60);
  release();
  const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
  console.log(`a person with joints: ${mean.toFixed(0)} bytes a second`);
  expect(mean).toBeLessThan(BYTES_PER_SECOND_MAX);

  clearInterval(frames);
  await waitFor("nothing left once no frames come", () => {
    presence.idle();
    return parts().length === 0;
  });
});
