/** Builds the examples of custom pages from the packed packages, and opens them with a real server. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { joinWorld, type World } from "nowcast/world";
import type { Browser, Page } from "playwright-core";
import { build, type PreviewServer, preview } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FIREFOX_CURE, Firefox, firefoxPath } from "../../../nowcast/test/browser/firefox.js";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser } from "../../../viewer/test/browser/browser.js";
import { serveBuiltPage } from "../../../viewer/test/browser/built-page.js";
import { emulateHeadset } from "../../../viewer/test/browser/emulated-headset.js";
import { layoutOf } from "../../../viewer/test/browser/layout.js";
import { OneBlockWorld } from "../../../viewer/test/browser/one-block-world.js";
import type { NowcastWorldElement } from "../../src/element.js";

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
const SCREENSHOTS = join(ROOT, "target/screenshots");
const DESKTOP = { width: 1280, height: 720 };
/** A picture for two eyes, which is drawn without graphics hardware. */
const SMALL = { width: 480, height: 240 };
const SMALL_PAGE = { width: 800, height: 500 };
const PHONE = { width: 390, height: 844 };
const DEVICES = { desktop: DESKTOP, phone: PHONE, "phone-wide": { width: 844, height: 390 } };
/** A world with everything that a world stages, for pictures from one camera. */
const STAGED = `
local world = require("@nowcast/world")
local Floor = world.kind("floor", { body = { motion = "fixed", shape = "box", size = vector.create(24, 1, 24) },
  look = { color = "#8fb069", sea = -1.4 } })
local Pool = world.kind("pool", { body = { motion = "sensor", role = "water", shape = "box", size = vector.create(4, 0.6, 4) },
  look = { color = "#3c8fd0", opacity = 0.6 } })
local Person = world.kind("person", { walker = {} })
local Tree = world.kind("tree", { body = { motion = "fixed", shape = "box", size = vector.create(0.5, 3.75, 0.5) },
  look = { model = "@nowcast/kit/tree" } })
local Sign = world.kind("sign", { body = { motion = "fixed", shape = "box", size = vector.create(3, 1.2, 0.1) },
  look = { color = "#f7f5ef", label = "a sign" }, attributes = { sign = { "text", default = "Welcome" } } })
world.ui.panel("book", { at = "bottom_right", title = "Guest book", parts = { { "text", name = "line", text = "no guest" } } })
world.on("start", function()
  Floor:spawn { at = vector.create(0, -0.5, 0) }
  Pool:spawn { at = vector.create(-4, 0.3, -3) }
  Tree:spawn { at = vector.create(5, 1.9, -4) }
  Sign:spawn { at = vector.create(0, 1.4, -4), yaw = math.pi }
  world.sky { time = 19.5 }
  world.weather { rain = 1, wind = vector.create(2, 0, 0) }
  world.light("lamp", { at = vector.create(2, 2.5, -2), color = "#ffb070", brightness = 3, range = 14 })
  world.light("beam", { type = "spot", at = vector.create(-3, 5, -2), direction = vector.create(0, -1, 0), color = "#70b0ff", brightness = 4 })
  world.camera { mode = "fixed", at = vector.create(0, 4, 9), look_at = vector.create(0, 1, -3) }
  world.show("score", { red = 1, blue = 2 })
end)
local places = 0
world.on("join", function(player)
  places += 1
  player:spawn_avatar(Person, { at = vector.create(2 * places - 4, 1, 0) })
end)
world.command("go", { arguments = { { "room", "text" } } }, function(player, room) player:send_to(room, { coins = 3 }) end)
world.on("arrive", function(player, data, from) world.show("coins", data.coins .. " from " .. from, player) end)
`;
/** The parts of the display, each of which must be free. */
const PARTS = [
  ".top > *",
  ".said > *",
  ".message",
  ".prompts > *",
  ".log li",
  ".chat input",
  ".stick-hint",
  ".touch button",
  "main > .board",
];

const meeting = new OneBlockWorld();
const staged = mkdtempSync(join(tmpdir(), "nowcast-staged-"));
let server: ServerProcess;
const served: PreviewServer[] = [];
const addresses = new Map<string, string>();
let browser: Browser;

beforeAll(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  const worlds = ["playground", "football"].map((name) => join(ROOT, "worlds", name));
  writeFileSync(join(staged, "world.luau"), STAGED);
  const named = ["hall", "shop"].flatMap((name) => ["--world", `${name}=${staged}`]);
  server = await ServerProcess.start(0, [...worlds, meeting.folder, ...named]);
  process.env["NOWCAST_SERVER"] = server.url;
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  for (const pages of served) await pages.close();
  await server?.stop();
  meeting.remove();
  rmSync(staged, { recursive: true, force: true });
});

/** Builds an example and serves it, unless it is served already; returns its address. */
async function serve(example: string): Promise<string> {
  const known = addresses.get(example);
  if (known !== undefined) return known;
  const root = join(ROOT, "examples", example);
  const outDir = join(ROOT, "target", `example-${example}`);
  await build({ root, logLevel: "error", build: { outDir, emptyOutDir: true } });
  const pages = await preview({
    root,
    logLevel: "error",
    build: { outDir },
    preview: { port: 0, host: "127.0.0.1" },
  });
  served.push(pages);
  const url = pages.resolvedUrls!.local[0]!;
  addresses.set(example, url);
  return url;
}

async function open(url: string, viewport: typeof DESKTOP): Promise<{ page: Page; errors: string[] }> {
  const page = await browser.newPage({
    viewport,
    hasTouch: viewport !== DESKTOP,
    isMobile: viewport !== DESKTOP,
  });
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(url);
  return { page, errors };
}

/** Waits until the picture shows more than the sky. */
async function waitForPicture(page: Page): Promise<void> {
  await waitFor("a world in the picture", async () => (await page.screenshot()).length > 40_000);
}

it("the example joins a world, draws it, walks, and shows its prompts", async () => {
  const url = await serve("page");
  const { page, errors } = await open(`${url}?room=playground-page`, DESKTOP);
  const players = async (): Promise<number> =>
    ((await (await fetch(`${server.url}/api/rooms`)).text()).match(/playground-page/g) ?? []).length;
  await waitFor("a player in the room", async () => (await players()) > 0);
  await waitForPicture(page);
  await page.getByText("only you").waitFor();
  await page.screenshot({ path: join(SCREENSHOTS, "page.png") });
  const still = await page.screenshot();
  await page.locator("canvas").first().focus();
  await page.keyboard.down("KeyW");
  await waitFor("another picture", async () => !still.equals(await page.screenshot()));
  await page.keyboard.up("KeyW");
  await page.keyboard.press("Shift+?");
  await page.getByText("drag to look").waitFor();
  // The first Enter closes the card with the goal of the world.
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  await page.keyboard.type("hello from a page");
  await page.keyboard.press("Enter");
  await page.getByText("hello from a page").first().waitFor();
  await page.screenshot({ path: join(SCREENSHOTS, "page-help.png") });
  expect(errors).toEqual([]);
  await page.close();
});

it("the element shows a world on a phone, with its score and buttons to touch", async () => {
  const { page, errors } = await open(`${await serve("page")}element.html`, PHONE);
  await waitForPicture(page);
  await page.locator("nowcast-world button", { hasText: "jump" }).waitFor();
  await page.screenshot({ path: join(SCREENSHOTS, "page-element-phone.png") });
  // A removed element leaves its world.
  const left = await page.evaluate(() => {
    const element = document.querySelector("nowcast-world")!;
    const world = (element as HTMLElement & { page: { world: { status: string } } }).page.world;
    element.remove();
    return [world.status, element.childElementCount];
  });
  expect(left).toEqual(["closed", 0]);
  expect(errors).toEqual([]);
  await page.close();
});

it("a player of the element enters with a headset, shows head and hands to others, and comes back", async () => {
  const url = await serve("page");
  const context = await browser.newContext({ viewport: SMALL });
  await emulateHeadset(context);
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(`${url}element.html`);
  await page.evaluate(() => document.querySelector("nowcast-world")!.setAttribute("src", "/r/meeting"));
  const read = <T>(of: (element: NowcastWorldElement) => T): Promise<T> =>
    page.locator("nowcast-world").evaluate(of as (element: unknown) => T) as Promise<T>;
  await waitFor("the local avatar", () => read(({ page }) => page?.world.avatar !== undefined));
  await page.locator("canvas").first().click();
  await read(({ page }) => page!.enterHeadset());
  const parts = (): Promise<number> =>
    read(({ page }) => {
      const { entities, playerId } = page!.world;
      const own = [...entities.values()].filter(({ owner }) => owner === playerId);
      return own.filter(({ kind: { name } }) => name === "head" || name === "hand").length;
    });
  await waitFor("a head and two hands", async () => (await parts()) === 3);
  await read(({ page }) => page!.controls.headset!.end());
  await waitFor("the page again", () => read(({ page }) => page!.controls.headset === undefined));
  await waitFor("no head and no hands", async () => (await parts()) === 0);
  expect(errors).toEqual([]);
  await context.close();
});

it("the server's page and the element show the same world, and go through its portal", async () => {
  const context = await browser.newContext({ viewport: SMALL_PAGE });
  context.setDefaultNavigationTimeout(300_000);
  await serveBuiltPage(context);
  const examples = await serve("page");
  const ben = joinWorld(`${server.url}/r/hall`, { name: "Ben", retry: true });
  await ben.joined;
  const speech = setInterval(() => ben.chat("Hello, page"), 3_000);
  const byServer = await visit(await context.newPage(), "server", `${server.url}/r/hall${QUERY}`);
  const byElement = await visit(await context.newPage(), "element", `${examples}element.html?src=/r/hall`);
  clearInterval(speech);
  ben.close();
  await context.close();
  expect(byElement).toEqual(byServer);
  expect(byServer).toMatchObject({ people: 2, lights: 2, weather: 1, sea: -1.4, fog: true, panels: 1 });
});

const QUERY = "?name=Ada&quality=medium&light=day&enter=1";

/** Enters the hall, takes a picture, goes to the shop, and returns what the picture showed. */
async function visit(page: Page, name: string, url: string): Promise<unknown> {
  await page.goto(url);
  await page.evaluate(() => document.querySelector("nowcast-world")?.setAttribute("src", "/r/hall"));
  const seen = () =>
    page.evaluate(() => {
      const own = document.querySelector("nowcast-world") as NowcastWorldElement | null;
      const { scene, camera, drawn, staging, view, ui } = own?.page ?? window.nowcast.viewer.stage;
      const isVisible = ({ visible }: { readonly visible: boolean }) => visible;
      const round = (value: number) => Math.round(value * 100) / 100;
      return {
        entities: [...drawn.all].map(({ body }) => body.kind).sort(),
        people: drawn.crowd.members.length,
        lights: staging.lights.group.children.filter((child) => "isLight" in child && child.visible).length,
        weather: staging.weather.group.children.filter(isVisible).length,
        sea: drawn.sea,
        fog: scene.fog !== null,
        camera: [...camera.position.toArray(), camera.fov].map(round),
        screen: [...(view?.world.screen.entries() ?? [])].sort(),
        panels: ui?.element.shadowRoot?.querySelectorAll("[data-panel]").length,
        bubbles: [...document.querySelectorAll(".bubble")].some((bubble) =>
          bubble.checkVisibility({ opacityProperty: true, visibilityProperty: true }),
        ),
      };
    });
  let shown = await seen();
  await waitFor("a frame with lights, weather and a bubble", async () => {
    shown = await seen();
    return shown.lights > 0 && shown.weather > 0 && shown.bubbles;
  });
  await page.screenshot({ path: join(SCREENSHOTS, `same-world-${name}.png`) });
  const world = <T>(read: (world: World) => T): Promise<T> =>
    page.evaluate<T>(
      `(${read})((document.querySelector("nowcast-world")?.page ?? window.nowcast).world)` as never,
    );
  await world((world) => world.chat("/go shop"));
  await waitFor(
    "the shop",
    async () => (await world((world) => world?.screen.get("coins"))) === "3 from hall",
  );
  await page.close();
  return shown;
}

it("a display in React shows score and players over the element", async () => {
  const url = await serve("react");
  const { page, errors } = await open(`${url}?room=football-react`, DESKTOP);
  await page.getByText("Red 0, blue 0 · Ada").waitFor();
  await waitForPicture(page);
  await page.screenshot({ path: join(SCREENSHOTS, "page-react.png") });
  expect(errors).toEqual([]);
  await page.close();
});

// Firefox draws WebGL only on a screen, such as that of Xvfb.
const hasFirefox = firefoxPath() !== undefined && process.env["DISPLAY"] !== undefined;
if (!hasFirefox) console.warn(`The examples are not opened in Firefox: ${FIREFOX_CURE}, and set DISPLAY`);

const EXAMPLES = [
  { name: "page", example: "page", path: "?room=playground-", text: "only you" },
  { name: "element", example: "page", path: "element.html?", text: "Score in the" },
  { name: "react", example: "react", path: "?room=football-", text: "Red 0, blue 0 · Ada" },
] as const;
/** Whether an element has drawn its avatar. The sky alone is a large picture, too. */
const HAS_AVATAR = `(() => {
  const own = document.querySelector("nowcast-world");
  return own === null || own.page?.view?.world.avatar !== undefined && own.page.drawn.crowd.members.length > 0;
})()`;

describe.each(EXAMPLES)("the example $name", ({ name, example, path, text }) => {
  it("draws a world in Chromium on a desktop and on phones, where nothing covers another thing", async () => {
    const url = await serve(example);
    for (const [device, size] of Object.entries(DEVICES)) {
      const { page, errors } = await open(`${url}${path}chromium-${device}`, size);
      // The players of other tests keep their seats for a while, and would begin the match.
      if (name === "element") {
        const room = `/r/football-chromium-${device}`;
        await page.evaluate((to) => document.querySelector("nowcast-world")!.setAttribute("src", to), room);
      }
      await page.getByText(text).first().waitFor();
      await waitFor("an avatar", async () => (await page.evaluate(HAS_AVATAR)) === true);
      await waitForPicture(page);
      await page.screenshot({ path: join(SCREENSHOTS, `page-chromium-${name}-${device}.png`) });
      const { shown, overlaps, cut } = await layoutOf(page, PARTS);
      expect({ overlaps, cut }, device).toEqual({ overlaps: [], cut: [] });
      expect(shown, device).toBeGreaterThan(name === "react" ? 0 : 2);
      expect(errors).toEqual([]);
      await page.close();
    }
  });

  if (!hasFirefox) return;
  it("draws a world in Firefox, on a desktop and on phones", async () => {
    const url = await serve(example);
    const firefox = await Firefox.launch();
    for (const [device, size] of Object.entries(DEVICES)) {
      const page = await firefox.openPage(`${url}${path}firefox-${device}`, size);
      const texts = `[document.body, ...[...document.querySelectorAll("*")].flatMap((part) => part.shadowRoot ?? [])]
        .map((root) => root.textContent).join(" ")`;
      await waitFor(`the text "${text}"`, async () => String(await page.evaluate(texts)).includes(text));
      await waitFor("an avatar", async () => (await page.evaluate(HAS_AVATAR)) === true);
      await waitFor("a world in the picture", async () => (await page.screenshot()).length > 40_000);
      writeFileSync(join(SCREENSHOTS, `page-firefox-${name}-${device}.png`), await page.screenshot());
      expect(page.errors).toEqual([]);
      await page.close();
    }
    await firefox.close();
  });
});

it("is the example of the guide, in at most 40 lines", () => {
  const example = readFileSync(join(ROOT, "examples/page/page.ts"), "utf8");
  const guide = readFileSync(join(ROOT, "docs/how-to/page-parts.md"), "utf8");
  expect(/```ts\n(.*?)```/s.exec(guide)![1]).toBe(example);
  expect(example.trimEnd().split("\n").length).toBeLessThanOrEqual(40);
});
