/** A new world in TypeScript: made by the program, compiled and served by one command, played in a browser. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { nowcastBinary } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser, Visitor } from "../../../viewer/test/browser/browser.js";
import { ROOT } from "../world-folder.js";

const SCREENSHOTS = join(ROOT, "target/screenshots");

let browser: Browser;
let parent: string;
let server: ChildProcess | undefined;

beforeAll(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  parent = mkdtempSync(join(tmpdir(), "typescript-world-"));
  for (const name of ["nowcast-server", "@nowcast/world-script"]) {
    const { status, stderr } = spawnSync("npm", ["run", "--silent", "build", "--workspace", name], {
      cwd: ROOT,
      encoding: "utf8",
    });
    expect(`${name} ${status} ${stderr}`).toBe(`${name} 0 `);
  }
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  if (server !== undefined && server.exitCode === null) {
    const ended = new Promise((resolve) => server!.once("exit", resolve));
    server.kill("SIGTERM");
    await ended;
  }
  rmSync(parent, { recursive: true, force: true });
});

it("is compiled and served by one command, and a saved file changes it while it is played", async () => {
  const made = spawnSync(nowcastBinary(), ["new", "park", "--typescript"], { cwd: parent, encoding: "utf8" });
  expect(made).toMatchObject({
    status: 0,
    stdout: expect.stringContaining("its rules are in park/world.ts"),
  });
  const park = join(parent, "park");
  symlinkSync(join(ROOT, "node_modules"), join(park, "node_modules"));
  const { scripts } = JSON.parse(readFileSync(join(park, "package.json"), "utf8"));
  expect(scripts.dev).toBe("nowcast-world dev . --open");

  const command = join(ROOT, "packages/world-script/dist/main.js");
  const flags = ["dev", ".", "--port", "0", "--no-data"];
  const output: string[] = [];
  server = spawn(process.execPath, [command, ...flags], {
    cwd: park,
    env: { ...process.env, NOWCAST_BIN: nowcastBinary() },
  });
  for (const stream of [server.stdout!, server.stderr!])
    stream.on("data", (bytes) => output.push(String(bytes)));
  const url = await waitFor("the server", () => /Nowcast is at (http:\/\/\S+)/.exec(output.join(""))?.[1]);
  const ada = await Visitor.enter(browser, { url: new URL(url).origin }, { name: "Ada", room: "park" });
  const screen = (name: string) =>
    ada.page.evaluate((place) => window.nowcast.world!.screen.get(place), name);
  await ada.page.screenshot({ path: join(SCREENSHOTS, "typescript-world.png") });

  const rules = readFileSync(join(park, "world.ts"), "utf8");
  const save = (more: string) => writeFileSync(join(park, "world.ts"), `${rules}\n${more}`);
  save('world.on("step", () => world.show("message", "Saved"));\n');
  await waitFor("the saved change", async () => (await screen("message")) === "Saved");
  await ada.page.screenshot({ path: join(SCREENSHOTS, "typescript-world-saved.png") });

  // A mistake of types is shown with its place, and an error of the new rules, which are taken back, too.
  const line = rules.split("\n").length + 1;
  save('world.on("step", () => world.shwo("message", "Wrong"));\n');
  await waitFor("the mistake", () =>
    output.join("").includes(`world.ts:${line}:30: Property 'shwo' does not exist`),
  );
  save('world.on("step", () => {\n  throw new Error("no step");\n});\n');
  await waitFor("the error", () => new RegExp(`world\\.ts:${line + 1}\\D.*no step`).test(output.join("")));
  expect(await screen("message")).toBe("Saved");
  expect(ada.errors).toEqual([]);
  await ada.leave();
});
