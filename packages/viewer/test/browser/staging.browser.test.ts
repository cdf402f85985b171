/** Lights, cameras, signs, trails, text inputs and pictures of a world, and control of walkers, in a real browser. */
import { mkdirSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { drawCoarsely, launchBrowser } from "./browser.js";
import { serveBuiltPage } from "./built-page.js";

const SCREENSHOTS = fileURLToPath(new URL("../../../../target/screenshots", import.meta.url));
const PATIENCE_MS = 60_000;

const RULES = `
local world = require("@nowcast/world")
local Floor = world.kind("floor", { body = { motion = "fixed", shape = "box", size = vector.create(80, 1, 80) } })
local Person = world.kind("person", { walker = { adjustable = true, pitch = true } })
local Sign = world.kind("sign", { body = { motion = "fixed", shape = "box", size = vector.create(3, 1.2, 0.1) },
  look = { color = "#f7f5ef" }, attributes = { sign = { "text", default = "Welcome" } } })
local Ball = world.kind("ball", { body = { motion = "kinematic", shape = "sphere", radius = 0.25 },
  look = { color = "#e4572e", glow = 1, trail = 1.5 } })
local Cart = world.kind("cart", { body = { motion = "kinematic", shape = "box", size = vector.create(1.4, 0.5, 2.2) },
  look = { color = "#2a7f86" } })
-- A cloth between the camera and the avatar. It has no body, so the camera does not move before it.
local Cloth = world.kind("cloth", { look = { shape = "box", size = vector.create(7, 5, 0.1), color = "#e000e0", glow = 0.45 } })
local sign, cart
world.ui.panel("book", { at = "bottom_left", title = "Guest book", parts = {
  { "picture", name = "icon", text = "assets/coin.png", label = "A coin", max = 48 },
  { "input", name = "line", label = "Your line", max = 40, press = function(player, text)
    for _, entity in Sign:all() do entity.sign = text end
  end },
} })
world.on("start", function()
  Floor:spawn { at = vector.create(0, -0.5, 0) }
  Sign:spawn { at = vector.create(0, 1.4, -3), yaw = math.pi }
  Ball:spawn { at = vector.create(0, 2, -2) }
  Cart:spawn { at = vector.create(3, 0.3, 0) }
  world.sky { time = 22 }
  world.light("lamp", { at = vector.create(2, 2.5, -2), color = "#ffb070", brightness = 2, range = 14 })
  world.light("beam", { type = "spot", at = vector.create(-3, 5, -2), direction = vector.create(0, -1, 0), color = "#70b0ff", brightness = 4 })
end)
Ball:on("step", function(ball)
  local turn = world.time() * 3
  ball:glide_to(vector.create(2.4 * math.cos(turn), 2, -2 + 2.4 * math.sin(turn)))
end)
Cart:on("step", function(cart)
  local driver = cart.player
  cart.velocity = if driver then vector.create(driver.input.right * 3, 0, 0) else vector.zero
end)
world.on("join", function(player) player:spawn_avatar(Person, { at = vector.create(0, 1, 3) }) end)
world.action("eyes", {}, function(player) world.camera({ mode = "first_person" }, player) end, { key = "1" })
world.action("above", {}, function(player)
  world.camera({ mode = "fixed", at = vector.create(0, 6, 9), look_at = vector.create(0, 1, -2) }, player)
end, { key = "2" })
world.action("back", {}, function(player) world.camera(nil, player) world.shake({ strength = 1 }, player) end, { key = "3" })
world.action("fast", {}, function(player) player.avatar.speed = 2 end, { key = "4" })
world.action("rain", {}, function(player)
  world.weather({ rain = 1, snow = 0.5, wind = vector.create(4, 0, 0) }, player)
end, { key = "7" })
world.action("calm", {}, function(player) world.weather(nil, player) end, { key = "8" })
world.action("cloth", {}, function(player)
  for _, cloth in Cloth:all() do return cloth:despawn() end
  Cloth:spawn { at = player.avatar.position + vector.create(0, 0.5, 2) }
end, { key = "9" })
world.action("freeze", {}, function(player) player.avatar.frozen = not player.avatar.frozen end, { key = "5" })
world.action("sit", {}, function(player)
  if player.avatar.kind == Person then
    player.private.body = player.avatar
    player:control(Cart:all()[1], { seat = vector.create(0, 0.85, 0) })
  else
    player:control(player.private.body)
  end
end, { key = "6" })
`;

/** A yellow picture of one pixel. */
const COIN = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8/5fhPwAHbQLcpLsVjgAAAABJRU5ErkJggg==",
  "base64",
);

let browser: Browser;
let folder: string;
let server: ServerProcess;
let page: Page;

beforeAll(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  folder = await mkdtemp(join(tmpdir(), "nowcast-staging-"));
  await writeFile(join(folder, "world.luau"), RULES);
  await mkdir(join(folder, "assets"));
  await writeFile(join(folder, "assets/coin.png"), COIN);
  server = await ServerProcess.start(0, ["--world", `stage=${folder}`]);
  browser = await launchBrowser();
  const context = await browser.newContext({ viewport: { width: 1000, height: 620 } });
  context.setDefaultNavigationTimeout(300_000);
  await serveBuiltPage(context);
  await drawCoarsely(context);
  page = await context.newPage();
  await page.goto(`${server.url}/r/stage?name=Ada&quality=low&enter=1`);
  await page.locator('[data-panel="book"]').waitFor({ timeout: 240_000 });
  await waitFor(
    "an avatar",
    () => page.evaluate(() => window.nowcast.viewer.controls.actor !== undefined),
    PATIENCE_MS,
  );
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
});

const camera = () =>
  page.evaluate(() => {
    const { controls, stage } = window.nowcast.viewer;
    const { camera } = controls;
    const { x, y, z } = stage.camera.position;
    return { mode: camera.rules?.mode, nearness: camera.nearness, at: [x, y, z] };
  });

const own = () =>
  page.evaluate(() => {
    const { actor } = window.nowcast.viewer.controls;
    const [x, y, z] = actor?.position.toArray() ?? [0, 0, 0];
    return { x, y, z, id: actor?.id ?? 0 };
  });

it("lights_signs_and_trails_of_a_world_are_drawn", async () => {
  const shines = () =>
    page.evaluate(() => {
      const lights = window.nowcast.viewer.stage.staging.lights.group.children as unknown as {
        intensity?: number;
      }[];
      return lights.filter(({ intensity = 0 }) => intensity > 0).length;
    });
  await waitFor("both lights", async () => (await shines()) === 2, PATIENCE_MS);
  const icon = page.locator('[data-part="icon"]');
  await waitFor(
    "the picture",
    () => icon.evaluate((image: HTMLImageElement) => image.naturalWidth === 1),
    PATIENCE_MS,
  );
  expect(await icon.getAttribute("alt")).toBe("A coin");
  const line = page.getByRole("textbox", { name: "Your line" });
  await line.fill("<b>Ada</b> was here");
  const before = await own();
  await page.keyboard.press("w");
  await line.press("Enter");
  const written = () =>
    page.evaluate(() => {
      const entities = [...(window.nowcast.viewer.view?.world.entities.values() ?? [])];
      return entities.find(({ kind }) => kind.name === "sign")?.attributes["sign"];
    });
  await waitFor(
    "the line on the sign",
    async () => String(await written()).startsWith("<b>Ada</b>"),
    PATIENCE_MS,
  );
  const after = await own();
  expect(Math.hypot(after.x - before.x, after.z - before.z)).toBeLessThan(0.05);
  await page.screenshot({ path: join(SCREENSHOTS, "staging.png") });
});

it("rain_and_snow_of_a_world_are_drawn_until_they_end", async () => {
  const errors: string[] = [];
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.locator("canvas").first().focus();
  const falling = () =>
    page.evaluate(() => {
      const drawn = window.nowcast.viewer.stage.staging.weather.group.children as unknown as {
        visible: boolean;
        geometry: { drawRange: { count: number } };
      }[];
      return drawn.filter(({ visible }) => visible).map(({ geometry }) => geometry.drawRange.count);
    });
  expect(await falling()).toEqual([]);
  await page.keyboard.press("7");
  await waitFor(
    "all drops and half of the flakes",
    async () => String(await falling()) === "4800,900",
    PATIENCE_MS,
  );
  await page.screenshot({ path: join(SCREENSHOTS, "staging-weather.png") });
  await page.keyboard.press("8");
  await waitFor("the end of the weather", async () => (await falling()).length === 0, PATIENCE_MS);
  expect(errors).toEqual([]);
});

it("the_camera_of_a_world_is_in_the_head_at_a_place_or_behind_the_avatar", async () => {
  await page.locator("canvas").first().focus();
  await page.keyboard.press("1");
  await waitFor("the eyes", async () => (await camera()).nearness === 0, PATIENCE_MS);
  await page.mouse.move(500, 300);
  const pitch = () =>
    page.evaluate(() => {
      const { viewer } = window.nowcast;
      viewer.controls.camera.pitch = -0.8;
      return viewer.view?.world.avatar?.attributes["pitch"];
    });
  await waitFor(
    "the pitch in the world",
    async () => Math.abs(Number(await pitch()) - 0.8) < 0.05,
    PATIENCE_MS,
  );
  await page.screenshot({ path: join(SCREENSHOTS, "staging-eyes.png") });
  await page.keyboard.press("2");
  await waitFor("the fixed camera", async () => (await camera()).mode === "fixed", PATIENCE_MS);
  await waitFor("its place", async () => Math.abs((await camera()).at[1]! - 6) < 0.1, PATIENCE_MS);
  await page.screenshot({ path: join(SCREENSHOTS, "staging-above.png") });
  await page.keyboard.press("3");
  await waitFor("the own camera", async () => (await camera()).mode === undefined, PATIENCE_MS);
});

/** The share of magenta pixels around the avatar's chest, and in the whole picture. */
function magenta(): Promise<{ readonly atAvatar: number; readonly everywhere: number }> {
  return page.evaluate(
    () =>
      new Promise((resolve) => {
        const { stage, controls } = window.nowcast.viewer;
        controls.camera.yaw = 0;
        controls.camera.pitch = 0.2;
        const draw = stage.drawFrame.bind(stage);
        stage.drawFrame = (frame) => {
          draw(frame);
          stage.drawFrame = draw;
          const { width, height } = stage.canvas;
          const context = new OffscreenCanvas(width, height).getContext("2d")!;
          context.drawImage(stage.canvas, 0, 0);
          const shareIn = (left: number, top: number, wide: number, high: number): number => {
            const { data } = context.getImageData(left, top, wide, high);
            let count = 0;
            for (let at = 0; at < data.length; at += 4) {
              const [red, green, blue] = [data[at]!, data[at + 1]!, data[at + 2]!];
              if (red > 40 && red > 1.3 * green && blue > 1.3 * green) count++;
            }
            return (4 * count) / data.length;
          };
          const chest = controls.actor!.position.clone().project(controls.camera.lens);
          const [x, y] = [(chest.x / 2 + 0.5) * width, (0.5 - chest.y / 2) * height];
          resolve({
            atAvatar: shareIn(x - width / 50, y - height / 20, width / 25, height / 10),
            everywhere: shareIn(0, 0, width, height),
          });
        };
      }),
  );
}

it("a_cloth_between_the_camera_and_the_avatar_has_holes_and_is_whole_beside_the_avatar", async () => {
  expect((await magenta()).everywhere).toBeLessThan(0.05);
  await page.keyboard.press("9");
  await waitFor("the cloth", async () => (await magenta()).everywhere > 0.5, PATIENCE_MS);
  await page.screenshot({ path: join(SCREENSHOTS, "staging-cloth.png") });
  expect((await magenta()).atAvatar).toBeLessThan(0.4);
  await page.keyboard.press("9");
  await waitFor("the end of the cloth", async () => (await magenta()).everywhere < 0.05, PATIENCE_MS);
});

it("a_person_runs_faster_is_frozen_and_sits_on_a_cart", async () => {
  await page.keyboard.press("4");
  const attribute = (name: string) =>
    page.evaluate((named) => window.nowcast.viewer.view?.world.avatar?.attributes[named], name);
  await waitFor("the speed", async () => (await attribute("speed")) === 2, PATIENCE_MS);
  await page.keyboard.down("s");
  const walked = await page.evaluate(async () => {
    const place = () => {
      const [x, , z] = window.nowcast.viewer.controls.actor?.position.toArray() ?? [0, 0, 0];
      return { x, z, at: performance.now() };
    };
    const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
    await wait(700);
    const from = place();
    await wait(1_500);
    const to = place();
    return Math.hypot(to.x - from.x, to.z - from.z) / ((to.at - from.at) / 1_000);
  });
  await page.keyboard.up("s");
  expect(walked).toBeGreaterThan(5);
  expect(walked).toBeLessThan(8);
  await page.keyboard.press("5");
  await waitFor("the frost", async () => (await attribute("frozen")) === true, PATIENCE_MS);
  await page.keyboard.down("w");
  const movedM = () =>
    page.evaluate(async () => {
      const { x, z } = window.nowcast.viewer.controls.actor?.position.clone() ?? { x: 0, z: 0 };
      await new Promise((resolve) => setTimeout(resolve, 500));
      const { x: thenX, z: thenZ } = window.nowcast.viewer.controls.actor?.position ?? { x: 9, z: 9 };
      return Math.hypot(thenX - x, thenZ - z);
    });
  // The last correction is still shown gradually. An avatar that is not frozen walks three metres in this time.
  await waitFor("a frozen avatar to stand still", async () => (await movedM()) < 0.002, PATIENCE_MS);
  await page.keyboard.up("w");
  await page.keyboard.press("5");
  await waitFor("the thaw", async () => (await attribute("frozen")) === false, PATIENCE_MS);
  const body = await own();
  await page.keyboard.press("6");
  await waitFor("the cart", async () => (await own()).id !== body.id, PATIENCE_MS);
  const seated = () =>
    page.evaluate((id) => {
      const member = window.nowcast.viewer.stage.drawn.crowd.get(id);
      return member && { isSeated: member.body.isSeated, x: member.position.x };
    }, body.id);
  await waitFor("the seat", async () => (await seated())?.isSeated === true, PATIENCE_MS);
  await page.keyboard.down("d");
  await waitFor("the ride", async () => (await own()).x > 5, PATIENCE_MS);
  await page.keyboard.up("d");
  // Both are read in one turn of the page, because the cart still rolls.
  const apart = await page.evaluate((id) => {
    const { scene, controls } = window.nowcast.viewer;
    return Math.abs(scene.crowd.get(id)!.position.x - controls.actor!.position.x);
  }, body.id);
  expect(apart).toBeLessThan(1.5);
  await page.evaluate(() => {
    window.nowcast.viewer.controls.camera.pitch = 0.4;
  });
  await waitFor("the camera above", async () => (await camera()).at[1]! > 2, PATIENCE_MS);
  await page.screenshot({ path: join(SCREENSHOTS, "staging-cart.png") });
  await page.keyboard.press("6");
  await waitFor("the own body", async () => (await own()).id === body.id, PATIENCE_MS);
});
