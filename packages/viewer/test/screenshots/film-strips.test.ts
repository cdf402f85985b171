/**
 * Film strips for people to look at: a picture each 100 ms of a goal, a capture, a shot and a landing. `npm run film-strips`
 * writes them to `target/screenshots/strips`.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser, Visitor } from "../browser/browser.js";
import { drawForPicturesOnly, type Stage, stage } from "./stage.js";

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
const STRIPS = `${ROOT}/target/screenshots/strips`;
const WORLDS = ["football", "capture-the-flag", "tower-defence", "playground"];
const SIZE = { width: 400, height: 225 };
const EACH_MS = 100;
/** Time between two attempts to jump. */
const JUMP_MS = 4_000;
/** The z of a way along the field of capture the flag on which nothing stands. */
const BESIDE_RAMPS = 2.6;
/** Pictures before and after the moment. */
const [BEFORE, AFTER] = [4, 8];

/** Runs in the page in each frame. Returns whether the moment has come. */
type Moment = () => boolean;

let browser: Browser;
let server: ServerProcess;

beforeAll(async () => {
  mkdirSync(STRIPS, { recursive: true });
  const folders = WORLDS.map((world) => `${ROOT}/worlds/${world}`);
  server = await ServerProcess.start(0, ["--rooms-max", "64", "--rooms-per-address-max", "64", ...folders]);
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

async function enter(room: string, name: string): Promise<Visitor> {
  const visitor = await Visitor.enter(browser, server, { name, room, viewport: SIZE, isSharp: true });
  await visitor.avatarId();
  return visitor;
}

/** Films until the moment has come, and writes the pictures around the moment as one picture. */
async function film({ page }: Visitor, name: string, view: Stage, moment: Moment): Promise<void> {
  await stage(page, view);
  const strip = page.evaluate(
    async ([source, eachMs, before, after]) => {
      const isNow = new Function(`return (${source})()`) as () => boolean;
      const { stage } = window.nowcast.viewer;
      const taken: ImageBitmap[] = [];
      let left = Number.POSITIVE_INFINITY;
      let next = performance.now();
      await new Promise<void>((resolve) => {
        const draw = stage.drawFrame.bind(stage);
        stage.drawFrame = (frame) => {
          draw(frame);
          if (left === Number.POSITIVE_INFINITY && isNow()) left = after;
          if (performance.now() < next || left <= 0) return;
          next = Math.max(next + eachMs, performance.now());
          const small = new OffscreenCanvas(stage.canvas.width, stage.canvas.height);
          small.getContext("2d")!.drawImage(stage.canvas, 0, 0);
          taken.push(small.transferToImageBitmap());
          if (left === Number.POSITIVE_INFINITY) return void taken.splice(0, taken.length - before);
          if (--left === 0) resolve();
        };
      });
      const [{ width, height } = { width: 0, height: 0 }] = taken;
      const columns = 4;
      const canvas = document.createElement("canvas");
      canvas.width = columns * width;
      canvas.height = Math.ceil(taken.length / columns) * height;
      const context = canvas.getContext("2d")!;
      for (const [at, one] of taken.entries()) {
        context.drawImage(one, (at % columns) * width, Math.floor(at / columns) * height);
      }
      return canvas.toDataURL("image/jpeg", 0.85).split(",")[1]!;
    },
    [String(moment), EACH_MS, BEFORE, AFTER] as const,
  );
  const bytes = Buffer.from(await strip, "base64");
  expect(bytes.length).toBeGreaterThan(20_000);
  writeFileSync(`${STRIPS}/${name}.jpg`, bytes);
}

it("a_goal", async () => {
  const ada = await enter("football-strip", "Ada");
  // The robot comes when she begins to walk, and scores if nobody stops it.
  await ada.page.keyboard.down("KeyA");
  await waitFor("the robot", () =>
    ada.page.evaluate(
      () =>
        [...window.nowcast.world!.entities.values()].filter(({ kind }) => kind.name === "footballer").length >
        1,
    ),
  );
  await ada.page.keyboard.up("KeyA");
  await film(ada, "goal", { at: [-10.5, 2.2, 5], lookAt: [-19, 1.2, -0.5], fov: 52 }, () =>
    String(window.nowcast.world!.screen.get("message") ?? "").startsWith("Goal"),
  );
  await ada.leave();
});

it("a_capture", async () => {
  const room = "capture-the-flag-strip";
  const [ada, ben] = await Promise.all([enter(room, "Ada"), enter(room, "Ben")]);
  const side = await ada.page.evaluate(() => Math.sign(window.nowcast.world!.avatar!.position[0]));
  const view = { at: [side * 18.5, 2.4, 5.5], lookAt: [side * 26, 1.4, 0], fov: 52 } as const;
  // Staging takes the focus, and with it the keys that are held down.
  await stage(ada.page, view);
  await Promise.all([drawForPicturesOnly(ada.page), drawForPicturesOnly(ben.page)]);
  await waitFor("the round", () =>
    ada.page.evaluate(() => window.nowcast.world!.screen.get("clock") !== undefined),
  );
  await ada.page.keyboard.down("ShiftLeft");
  await ada.page.keyboard.down("KeyW");
  await walkAlong(ada, [
    [side * 14, BESIDE_RAMPS],
    [side * -21, BESIDE_RAMPS],
    [side * -26, 0],
  ]);
  await walkAlong(ada, [
    [side * -21, BESIDE_RAMPS],
    [side * 14, BESIDE_RAMPS],
  ]);
  await ada.page.evaluate(() => {
    window.isDrawn = true;
  });
  const strip = film(ada, "capture", view, () =>
    [...window.nowcast.world!.entities.values()].every(({ attributes }) => attributes["flag"] == null),
  );
  await walkAlong(ada, [[side * 26, 0]]);
  await ada.page.keyboard.up("KeyW");
  await strip;
  await ada.leave();
  await ben.leave();
});

/** Turns a player who walks toward each of these places, x and z, in turn. */
async function walkAlong({ page }: Visitor, places: readonly (readonly [number, number])[]): Promise<void> {
  for (const place of places) {
    await page.evaluate(
      ([x, z]) =>
        new Promise<void>((resolve) => {
          const turn = setInterval(() => {
            // The shown pose is newer than the server's.
            const { actor, camera } = window.nowcast.viewer.controls;
            if (actor === undefined) return;
            camera.yaw = Math.atan2(actor.position.x - x, actor.position.z - z);
            if (Math.hypot(actor.position.x - x, actor.position.z - z) > 1) return;
            clearInterval(turn);
            resolve();
          }, 16);
        }),
      place,
    );
  }
}

it("a_shot", async () => {
  const ada = await enter("tower-defence-strip", "Ada");
  await ada.page.evaluate(() => {
    const { world } = window.nowcast;
    for (const [x, z] of [
      [19, 7],
      [19, 5],
    ] as const) {
      world!.act("build", { at: [x, 1.1, z] });
    }
    world!.act("next_wave");
  });
  await film(ada, "shot", { at: [23.5, 2.6, 10.5], lookAt: [17, 1.2, 3.5], fov: 52 }, () =>
    [...window.nowcast.world!.entities.values()].some(({ kind }) => kind.name === "bolt"),
  );
  await ada.leave();
});

it("a_landing", async () => {
  const ada = await enter("playground-strip", "Ada");
  const [x, y, z] = (await ada.position(await ada.avatarId()))!;
  const strip = film(
    ada,
    "landing",
    { at: [x + 3, y + 0.4, z - 2.4], lookAt: [x, y + 0.3, z], fov: 46 },
    () => {
      const { viewer } = window.nowcast;
      return (viewer.controls.actor?.position.y ?? 0) > 1.3;
    },
  );
  // The page drops keys that are down when the stage is set. A key that is held down would jump again.
  for (let isFilmed = false; !isFilmed; ) {
    await ada.page.keyboard.press("Space", { delay: 300 });
    const pause = ada.page.waitForTimeout(JUMP_MS).then(() => false);
    isFilmed = await Promise.race([strip.then(() => true), pause]);
  }
  await ada.leave();
});
