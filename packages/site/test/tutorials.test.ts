/** Follows the tutorials: writes their files, and runs their commands and programs. */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { joinWorld, type World } from "nowcast/world";
import { afterAll, describe, expect, it, vi } from "vitest";
import { ServerProcess } from "../../nowcast/test/server-process.js";
import { waitFor } from "../../nowcast/test/wait-for.js";
import { blocksOf } from "../src/pages/markdown.js";
import { readRepositoryFile } from "../src/pages/repository.js";
import { runNowcast } from "./program.js";

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function makeFolder(parent: string): string {
  const folder = mkdtempSync(join(parent, "tutorial-"));
  folders.push(folder);
  return folder;
}

describe("the tutorial of a first world", () => {
  const blocks = blocksOf(readRepositoryFile("docs/tutorials/first-world.md"));
  const folder = makeFolder(tmpdir());

  it("makes_a_world_that_passes_its_check_and_its_test_at_each_command", () => {
    let commands = 0;
    let rules = "";
    for (const { comment, text, notRun, language } of blocks) {
      const [, verb, path] = /^(file|append): (\S+)$/.exec(comment ?? "") ?? [];
      if (path !== undefined) {
        const whole = verb === "file" ? text : `${rules}\n${text}`;
        if (path.endsWith("world.luau")) rules = whole;
        mkdirSync(dirname(join(folder, path)), { recursive: true });
        writeFileSync(join(folder, path), whole);
        const { code, output } = runNowcast(["check", "my-world"], folder);
        expect(`${path} ${code} ${code === 0 ? "" : output}`).toBe(`${path} 0 `);
        expect(output).not.toContain("warning");
      } else if (language === "sh" && notRun === undefined) {
        const words = text.trim().split(/\s+/);
        const { code, output } = runNowcast(words.slice(1), folder);
        expect(`${text.trim()}: ${code} ${code === 0 ? "" : output}`).toBe(`${text.trim()}: 0 `);
        commands += 1;
      }
    }
    expect(commands).toBe(3);
  });

  it("has_the_mass_that_its_fifth_step_changes", () => {
    const page = readRepositoryFile("docs/tutorials/first-world.md");
    expect(page).toContain("Change `mass = 0.5` to `mass = 2`");
    expect(blocks.find(({ comment }) => comment === "file: my-world/world.luau")?.text).toContain(
      "mass = 0.5",
    );
  });
});

describe("the recipes", () => {
  const blocks = blocksOf(readRepositoryFile("docs/how-to/recipes.md")).filter(
    ({ language }) => language === "lua",
  );
  const folder = makeFolder(tmpdir());

  it("outlive_a_player_who_acts_leaves_and_returns", () => {
    expect(runNowcast(["new", "my-world"], folder).code).toBe(0);
    const rules = readFileSync(join(folder, "my-world/world.luau"), "utf8");
    rmSync(join(folder, "my-world/tests/ball.luau"));
    expect(blocks.length).toBeGreaterThan(8);
    for (const { comment, text, line } of blocks) {
      expect(`${line} ${comment}`).toBe(`${line} append: my-world/world.luau`);
      const actions = [...text.matchAll(/world\.action\("(\w+)"/g)].map(([, name]) => `"${name}"`).join(", ");
      writeFileSync(join(folder, "my-world/world.luau"), `${rules}\n${text}`);
      writeFileSync(join(folder, "my-world/tests/leave.luau"), leaveAndReturn(actions));
      for (const verb of ["check", "test"]) {
        const { code, output } = runNowcast([verb, "my-world"], folder);
        expect(`${line} ${verb} ${code} ${code === 0 ? "" : output}`).toBe(`${line} ${verb} 0 `);
        expect(`${line} ${output}`).not.toContain("warning");
      }
    }
  });

  /** A test of a world: two players act, leave and return. A tagged lamp can be taken before and after. */
  function leaveAndReturn(actions: string): string {
    return `
local test, world = require("@nowcast/test"), require("@nowcast/world")

local function play(player)
	local lamp = world.tagged("lamp")[1]
	test.wait(1)
	for _, action in { ${actions} } :: { string } do
		test.act(player, action, if action == "take" then { lamp = lamp } else {})
		if action == "take" then test.equal(lamp.parent, player.avatar) end
	end
	if lamp then test.act(player, "take", { lamp = lamp }) end
	test.leave(player)
	test.wait(1)
	if lamp then
		assert(lamp.alive, "the lamp stays")
		test.equal(lamp.parent, nil)
		test.near(lamp.position.y, 0.2, 0.1)
	end
end

test.case("players leave and return", function()
	local bo = test.join("Bo", {}, "key:bo")
	play(test.join("Ada", { "builder" }, "key:ada"))
	play(test.join("Ada", { "builder" }, "key:ada"))
	play(bo)
end)
`;
  }
});

/** A port that no program uses. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

describe("programs of the documents", () => {
  const here = fileURLToPath(new URL(".", import.meta.url));

  /** Runs several programs of a page as one program, in the order of the page, and returns the output. */
  async function run(page: string, names: readonly string[]): Promise<readonly string[]> {
    const blocks = blocksOf(readRepositoryFile(page));
    // The folder is inside the tests' folder, so that the import `nowcast` resolves to the SDK's source.
    const folder = makeFolder(here);
    const port = await freePort();
    const output: string[] = [];
    const log = vi.spyOn(console, "log").mockImplementation((...values: unknown[]) => {
      output.push(values.join(" "));
    });
    try {
      const start = (name: string): Promise<unknown> => {
        const block = blocks.find(({ comment }) => comment === `program: ${name}`)!;
        const path = join(folder, name);
        // Two seconds instead of the half minute for a reader.
        writeFileSync(path, block.text.replaceAll("7777", String(port)).replace("step < 3000", "step < 200"));
        return import(/* @vite-ignore */ path);
      };
      const first = start(names[0]!);
      await Promise.race([first, waitFor(`${names[0]} to listen`, () => accepts(port))]);
      await Promise.all([first, ...names.slice(1).map(start)]);
    } finally {
      log.mockRestore();
    }
    return output;
  }

  it("first_channel_carries_poses_and_the_event", async () => {
    const output = await run("docs/tutorials/first-channel.md", ["tracker.js", "viewer.js"]);
    expect(
      output.filter((line) => /^pose 7: -?\d\.\d\d -?\d\.\d\d, -?\d+ ms old$/.test(line)).length,
    ).toBeGreaterThan(3);
    expect(output.filter((line) => line === "button pressed").length).toBeGreaterThan(0);
  });

  it("back_end_answers_the_question_of_the_rules", async () => {
    const blocks = blocksOf(readRepositoryFile("docs/how-to/back-end.md"));
    const textOf = (name: string): string =>
      blocks.find(({ comment }) => comment === `program: ${name}`)!.text;
    const folder = makeFolder(here);
    mkdirSync(join(folder, "shop"));
    writeFileSync(join(folder, "shop/world.luau"), textOf("shop.luau"));
    const server = await ServerProcess.start(0, [join(folder, "shop")]);
    const path = join(folder, "backend.js");
    writeFileSync(path, `${textOf("backend.js").replace("7777", String(server.port))}\nexport { world };\n`);
    const { world: backend } = (await import(/* @vite-ignore */ path)) as { world: World };
    await backend.ready;
    const ada = joinWorld(`${server.url}/r/shop`, { name: "Ada" });
    await ada.joined;
    ada.act("equip", { item: "hat" });
    await waitFor("the answer", () => ada.screen.get("item") === "hat");
    ada.act("equip", { item: "crown" });
    await waitFor("the refusal", () => ada.screen.get("item") === "not yours");
    ada.close();
    backend.close();
    await server.stop();
  });

  it("webhook_of_the_back_end_receives_joins_and_leaves", async () => {
    const blocks = blocksOf(readRepositoryFile("docs/how-to/back-end.md"));
    const text = blocks.find(({ comment }) => comment === "program: webhook.js")!.text;
    const folder = makeFolder(here);
    const port = await freePort();
    writeFileSync(join(folder, "webhook.mjs"), text.replace("3000", String(port)));
    expect(runNowcast(["token", "--make-key", "webhook.key"], folder).code).toBe(0);
    const receiver = spawn(process.execPath, ["webhook.mjs"], { cwd: folder });
    const output: string[] = [];
    for (const stream of [receiver.stdout, receiver.stderr])
      stream.on("data", (chunk: Buffer) => output.push(chunk.toString()));
    const key = join(folder, "webhook.key");
    const webhook = ["--webhook", `http://127.0.0.1:${port}/webhook`, "--webhook-key-file", key];
    const server = await ServerProcess.start(0, webhook);
    try {
      const ada = joinWorld(`${server.url}/r/playground`, { name: "Ada" });
      await ada.joined;
      ada.close();
      const lines = (): string => output.join("");
      await waitFor("the join", () => lines().includes("join playground Ada\n"));
      await waitFor("the leave", () => lines().includes("leave playground \n"));
      const forged = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: "{}" });
      expect(forged.status).toBe(401);
    } finally {
      receiver.kill();
      await server.stop();
    }
  });

  it("migration_from_socket_io_asks_and_receives_the_last_state", async () => {
    const output = await run("docs/how-to/migrate.md", ["server.js", "client.js"]);
    expect(output).toEqual(["9 bytes", "the newest pose is here"]);
  });
});
