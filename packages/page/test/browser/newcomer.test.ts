/** Builds the programs that a newcomer copies from the guides, and opens each in Chromium and Firefox beside another player. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { joinWorld, type World } from "nowcast/world";
import type { Browser } from "playwright-core";
import { build, type PreviewServer, preview } from "vite";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  FIREFOX_CURE,
  Firefox,
  type FirefoxPage,
  firefoxPath,
} from "../../../nowcast/test/browser/firefox.js";
import { blocksOf } from "../../../nowcast/test/package/packed.js";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser } from "../../../viewer/test/browser/browser.js";

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
const FOLDER = join(ROOT, "target/newcomer");
const SCREENSHOTS = join(ROOT, "target/screenshots");
const SIZE = { width: 800, height: 500 };
const SHEEP = `
local world = require("@nowcast/world")
local Floor = world.kind("floor", { body = { motion = "fixed", shape = "box", size = vector.create(30, 1, 30) }, look = { color = "#8fb069" } })
local Person = world.kind("person", { walker = {} })
local Sheep = world.kind("sheep", { body = { shape = "sphere", radius = 0.5 }, attributes = { wool = { "u8", default = 3 } } })
world.on("start", function()
  Floor:spawn { at = vector.create(0, -0.5, 0) }
  for x = -3, 3, 2 do Sheep:spawn { at = vector.create(x, 0.5, -4) } end
end)
local places = 0
world.on("join", function(player)
  player:spawn_avatar(Person, { at = vector.create(places % 4 - 2, 1, -1) })
  places += 1
end)
`;

const blocks = (guide: string, language: string): readonly string[] =>
  blocksOf(readFileSync(join(ROOT, "docs/how-to", `${guide}.md`), "utf8"), language);
const [element, body] = blocks("page-parts", "html");
const [drawing, meshes] = blocks("three", "ts");
const [app, main] = blocks("react", "tsx");
/** The guide's own meshes, in the place of the lines of its first program that join a world and view it. */
const ownMeshes = drawing!.replace(
  /const room.*?const view.*?\n/s,
  meshes!.replace(/^import .*(WorldView|joinWorld).*\n/gm, ""),
);
const FILES: Readonly<Record<string, string>> = {
  "element.html": element!,
  "parts.html": body!.replace("page.ts", "parts.ts"),
  "parts.ts": blocks("page-parts", "ts")[0]!,
  "three.html": body!.replace("page.ts", "three.ts"),
  "three.ts": drawing!,
  "meshes.html": body!.replace("page.ts", "meshes.ts"),
  "meshes.ts": ownMeshes,
  "react.html": blocks("react", "html")[0]!,
  "main.tsx": main!,
  "app.tsx": app!,
};
const PROGRAMS = Object.keys(FILES).filter((file) => file.endsWith(".html"));
/** The texts of a page, with those of its elements. */
const TEXTS = `[document.body, ...[...document.querySelectorAll("*")].flatMap((part) => part.shadowRoot ?? [])]
  .map((root) => root.textContent).join(" ")`;

const sheep = mkdtempSync(join(tmpdir(), "nowcast-sheep-"));
/** Ben, in each room. */
const others: World[] = [];
let server: ServerProcess;
let pages: PreviewServer;
let chromium: Browser;

beforeAll(async () => {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  mkdirSync(SCREENSHOTS, { recursive: true });
  for (const [file, text] of Object.entries(FILES)) writeFileSync(join(FOLDER, file), text);
  writeFileSync(join(sheep, "world.luau"), SHEEP);
  const worlds = ["playground", "football"].map((name) => join(ROOT, "worlds", name));
  server = await ServerProcess.start(0, [...worlds, "--world", `sheep=${sheep}`]);
  for (const room of ["playground", "football", "sheep"]) {
    others.push(joinWorld(`${server.url}/r/${room}`, { name: "Ben", retry: true }));
  }
  const common = { root: FOLDER, logLevel: "error", configFile: false } as const;
  const input = PROGRAMS.map((file) => join(FOLDER, file));
  await build({ ...common, build: { target: "es2022", assetsDir: "built", rollupOptions: { input } } });
  const proxy = { "/nowcast": { target: server.url, ws: true }, "/assets/": server.url, "/api/": server.url };
  pages = await preview({ ...common, preview: { port: 0, host: "127.0.0.1", proxy } });
  chromium = await launchBrowser();
});

afterAll(async () => {
  await chromium?.close();
  await pages?.close();
  for (const world of others) world.close();
  await server?.stop();
  rmSync(sheep, { recursive: true, force: true });
});

/** Opens each program until it shows another player, and returns the errors of all pages. */
async function visit(browser: string, open: (url: string) => Promise<FirefoxPage>): Promise<string[]> {
  const errors: string[] = [];
  for (const file of PROGRAMS) {
    const page = await open(`${pages.resolvedUrls!.local[0]}${file}`);
    const name = file.replace(".html", "");
    // The view of the guide's own meshes has no labels, so Ben must see Ada there.
    const isSeen = async () =>
      name === "meshes"
        ? others.at(-1)!.players.size > 1
        : String(await page.evaluate(TEXTS)).includes("Ben");
    await waitFor(`another player in ${name}`, isSeen);
    if (name === "react") expect(await page.evaluate(TEXTS)).toMatch(/\d:\d .*Ada/);
    else await waitFor(`a picture of ${name}`, async () => (await page.screenshot()).length > 25_000);
    writeFileSync(join(SCREENSHOTS, `newcomer-${name}-${browser}.png`), await page.screenshot());
    errors.push(...page.errors.map((error) => `${name}: ${error}`));
    await page.close();
  }
  return errors;
}

it("the five programs of the guides join and draw their worlds in Chromium", async () => {
  const errors = await visit("chromium", async (url) => {
    const page = await chromium.newPage({ viewport: SIZE });
    const found: string[] = [];
    page.on("pageerror", (error) => found.push(String(error)));
    await page.goto(url);
    return {
      errors: found,
      evaluate: (expression) => page.evaluate(expression),
      screenshot: () => page.screenshot(),
      close: () => page.close(),
    };
  });
  expect(errors).toEqual([]);
});

// Firefox draws WebGL only on a screen, such as that of Xvfb.
const hasFirefox = firefoxPath() !== undefined && process.env["DISPLAY"] !== undefined;
if (!hasFirefox) console.warn(`The programs are not opened in Firefox: ${FIREFOX_CURE}, and set DISPLAY`);
it.runIf(hasFirefox)("the five programs of the guides join and draw their worlds in Firefox", async () => {
  const firefox = await Firefox.launch();
  try {
    expect(await visit("firefox", (url) => firefox.openPage(url, SIZE))).toEqual([]);
  } finally {
    await firefox.close();
  }
});
