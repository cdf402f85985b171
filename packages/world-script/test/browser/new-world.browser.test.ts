/** A new world in TypeScript: made by the program, compiled and served by one command, changed while it is played in a browser. */
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
const SAVES = 10;

let browser: Browser;
let parent: string;
let server: ChildProcess | undefined;

beforeAll(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  parent = mkdtempSync(join(tmpdir(), "typescript-world-"));
  for (const name of ["nowcast-server", "@nowcast/world-script"]) {
    const build = ["run", "--silent", "build", "--workspace", name];
    const { status, stderr } = spawnSync("npm", build, { cwd: ROOT, encoding: "utf8" });
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

it("a_saved_file_changes_the_world_in_the_browser_and_a_mistake_changes_nothing", async () => {
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
  const output: string[] = [];
  server = spawn(process.execPath, [command, "dev", ".", "--port", "0", "--no-data"], {
    cwd: park,
    env: { ...process.env, NOWCAST_BIN: nowcastBinary() },
  });
  for (const stream of [server.stdout!, server.stderr!])
    stream.on("data", (bytes) => output.push(String(bytes)));
  const url = await waitFor("the server", () => /Nowcast is at (http:\/\/\S+)/.exec(output.join(""))?.[1]);
  const ada = await Visitor.enter(browser, { url: new URL(url).origin }, { name: "Ada", room: "park" });
  const screen = (name: string) =>
    ada.page.evaluate((place) => window.nowcast.world!.screen.get(place), name);

  const rules = readFileSync(join(park, "world.ts"), "utf8");
  const save = (more: string) => writeFileSync(join(park, "world.ts"), `${rules}\n${more}`);
  const milliseconds: number[] = [];
  for (let number = 1; number <= SAVES; number++) {
    const text = `Saved ${number}`;
    const begun = performance.now();
    save(`world.on("step", () => world.show("message", "${text}"));\n`);
    await ada.page.waitForFunction(
      (wanted) => document.getElementById("message")?.textContent === wanted,
      text,
    );
    milliseconds.push(performance.now() - begun);
  }
  milliseconds.sort((a, b) => a - b);
  const [median, longest] = [milliseconds[SAVES / 2]!, milliseconds.at(-1)!];
  console.log(
    `save to effect in the browser: p50 ${median.toFixed(0)} ms, longest of ${SAVES} ${longest.toFixed(0)} ms`,
  );
  await ada.page.screenshot({ path: join(SCREENSHOTS, "typescript-world-saved.png") });

  // A mistake of types is shown with its place, and so is an error of new rules, which are taken back.
  const line = rules.split("\n").length + 1;
  save('world.on("step", () => world.shwo("message", "Wrong"));\n');
  await waitFor("the mistake", () =>
    output.join("").includes(`world.ts:${line}:30: Property 'shwo' does not exist`),
  );
  save('world.on("step", () => {\n  throw new Error("no step");\n});\n');
  await waitFor("the error", () => new RegExp(`world\\.ts:${line + 1}\\D.*no step`).test(output.join("")));
  expect(await screen("message")).toBe(`Saved ${SAVES}`);
  expect(ada.errors).toEqual([]);
  await ada.leave();
});
