/** The studio's page at a real server with a stored world. */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nowcastBinary } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser, Visitor } from "../../../viewer/test/browser/browser.js";
import { serveBuiltPage } from "../../../viewer/test/browser/built-page.js";
import { Arena, POINTS_LINE, SECOND_LINE } from "./arena.js";
import { StudioVisitor } from "./studio-visitor.js";

const run = promisify(execFile);

let browser: Browser;
let arena: Arena;

beforeAll(async () => {
  arena = await Arena.start();
  await arena.join("<b>Ada</b>");
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await arena?.stop();
});

async function withVisitor(tab: string, use: (visitor: StudioVisitor) => Promise<void>): Promise<void> {
  const visitor = await StudioVisitor.open(browser, arena.url, { tab });
  try {
    await use(visitor);
    expect(visitor.errors).toEqual([]);
  } finally {
    // An open picture would slow down the other tests.
    await visitor.leave();
  }
}

describe("the studio's page", () => {
  it("an_edited_attribute_is_shown_in_another_studio_and_on_the_page_of_the_room", async () => {
    const { id } = (await arena.rowsOf("block"))[6]!;
    const player = await Visitor.enter(browser, arena.server, { name: "Cleo", room: "arena" });
    const hp = () =>
      player.page.evaluate((wanted) => {
        const entities = [...window.nowcast.world!.entities.values()];
        return entities.find((entity) => entity.id === wanted)?.attributes["hp"];
      }, id);
    expect(await hp()).toBe(10);
    // Small pictures are drawn sooner.
    const viewport = { width: 760, height: 480 };
    const ada = await StudioVisitor.open(browser, arena.url, { viewport });
    const ben = await StudioVisitor.open(browser, arena.url, { viewport });
    await ada.select(id);
    await ben.select(id);
    await ada.page.getByRole("button", { name: /^Edit hp/ }).click();
    const input = ada.page.getByRole("textbox", { name: "hp" });
    await input.fill("77");
    await input.press("Enter");
    await ben.page.getByRole("button", { name: "Edit hp, now 77" }).waitFor();
    await waitFor("the value on the page of the room", async () => (await hp()) === 77);
    // The world refuses a text there, and the reason is shown.
    await ada.page.getByRole("button", { name: /^Edit hp/ }).click();
    await input.fill('"many"');
    await input.press("Enter");
    await waitFor("the reason", async () => (await ada.message()).includes("hp"));
    await ada.page.getByRole("button", { name: "Edit hp, now 77" }).waitFor();
    // Studios join as programs, so the page counts them not as people, and does not announce them.
    const count = () =>
      player.page.evaluate(() => {
        const players = [...window.nowcast.world!.players.values()];
        const programs = players.filter(({ isProgram }) => isProgram).length;
        return { programs, people: players.length - programs };
      });
    expect(await count()).toEqual({ programs: 2, people: 2 });
    expect(await player.page.locator("#place small").textContent()).toBe("2 people");
    expect(await player.page.locator("#chat-log").textContent()).not.toContain("Studio");
    expect([...ada.errors, ...ben.errors, ...player.errors]).toEqual([]);
    for (const visitor of [ada, ben, player]) await visitor.leave();
  });

  it("a_watched_attribute_and_a_watched_key_list_their_last_values_and_open_the_step", async () => {
    const { id } = (await arena.rowsOf("block"))[9]!;
    await withVisitor("world", async (visitor) => {
      const { page } = visitor;
      const set = (value: number): Promise<unknown> =>
        arena.api.command("arena", [{ type: "set_attribute", entity: id, name: "hp", value }]);
      await page.getByRole("button", { name: "Watch score" }).click();
      await visitor.select(id);
      await page.getByRole("button", { name: "Watch hp" }).click();
      // The panel of an entity may be closed.
      await page.getByRole("button", { name: "Close" }).click();
      const hp = page.getByRole("group", { name: `block #${id} hp` });
      const listed = (): Promise<string[]> => hp.locator("li span").allInnerTexts();
      await waitFor("the first value", async () => (await listed()).join() === "10");
      for (const value of [20, 30]) {
        await set(value);
        await waitFor("the new value", async () => (await listed())[0] === String(value));
      }
      expect(await listed()).toEqual(["30", "20", "10"]);
      await hp.getByText(/^edit in the studio · /).waitFor();
      expect(await hp.locator(".value").innerText()).toBe("30");
      const score = page.getByRole("group", { name: "state score" });
      await waitFor("three scores", async () => (await score.locator("li").count()) >= 3);
      const scores = (await score.locator("li span").allInnerTexts()).map(Number);
      expect(scores).toEqual([...scores].sort((a, b) => b - a));
      await score.getByText(/timer “second”/).waitFor();
      await score.getByRole("button", { name: `world.luau:${SECOND_LINE}` }).click();
      await page.getByRole("tabpanel", { name: "Code", exact: true }).waitFor();
      await visitor.show("World");
      await hp.getByRole("button", { name: "Stop watching hp" }).click();
      expect(await hp.count()).toBe(0);
      await score.getByRole("button", { name: /^step/ }).last().click();
      await page.getByRole("tabpanel", { name: "Time", exact: true }).waitFor();
      const card = page.getByRole("article");
      await card.getByText(/^step \d+$/).waitFor();
      // The server would list the moment in later tests, too.
      await card.getByRole("button", { name: "Close" }).click();
      await card.waitFor({ state: "detached" });
    });
  });

  it("names_and_values_of_strangers_are_text", () =>
    withVisitor("clients", async (visitor) => {
      await visitor.page.getByText("<b>Ada</b>").waitFor();
      expect(await visitor.page.locator("td b").count()).toBe(0);
      await visitor.show("World");
      await visitor.page.getByRole("searchbox", { name: "Search entities" }).fill("kind:goal");
      await visitor.page.getByText("<img src=x onerror=alert(1)>").waitFor();
      expect(await visitor.page.locator("img").count()).toBe(0);
    }));

  it("a_broken_rule_is_marked_while_typed_and_its_error_is_at_its_line_after_the_save", () =>
    withVisitor("code", async (visitor) => {
      const { page } = visitor;
      const place = `world.luau:${POINTS_LINE}`;
      await page.locator(".cm-content").getByText("local POINTS = 2").click();
      await page.keyboard.press("End");
      await page.keyboard.type(" + oops");
      await page.getByRole("button", { name: place }).waitFor();
      await page.locator(".cm-lintRange-error").waitFor();
      await page.keyboard.press("Control+s");
      await page.locator(".cm-line", { hasText: "oops" }).locator(".note-error").waitFor();
      expect(await arena.read("world.luau")).toContain("local POINTS = 2 + oops");
      await page.getByRole("alert").getByText(place).waitFor();
      // The repaired rules have no error.
      for (let count = 0; count < " + oops".length; count += 1) await page.keyboard.press("Backspace");
      await page.locator(".cm-lintRange-error").waitFor({ state: "detached" });
      await page.keyboard.press("Control+s");
      await page.getByText("no mistakes", { exact: true }).waitFor();
      await page.locator(".note-error").waitFor({ state: "detached" });
      await page.getByRole("alert").getByText(place).waitFor({ state: "hidden" });
    }));

  it("an_error_of_running_rules_is_at_its_line", () =>
    withVisitor("code", async (visitor) => {
      const { page } = visitor;
      await page.locator(".cm-content").getByText("world.state.score += POINTS").click();
      await page.keyboard.press("End");
      await page.keyboard.type(".missing");
      await page.keyboard.press("Control+s");
      await page.locator(".cm-line", { hasText: ".missing" }).locator(".note-error").waitFor();
      await page.getByText("1 runtime error", { exact: true }).waitFor();
      await page
        .getByRole("region", { name: "Problems" })
        .getByText(/^world\.luau:\d+ /)
        .waitFor();
      for (let count = 0; count < ".missing".length; count += 1) await page.keyboard.press("Backspace");
      await page.keyboard.press("Control+s");
      await page.locator(".note-error").waitFor({ state: "detached" });
      await page.getByText("no mistakes", { exact: true }).waitFor();
      expect(await arena.read("world.luau")).toContain("world.state.score += POINTS\n");
    }));

  it("the_log_has_lines_from_before_its_tab_is_opened", () =>
    withVisitor("code", async (visitor) => {
      const { page } = visitor;
      const player = await arena.join("Eve");
      await page.locator(".cm-line").first().waitFor();
      player.chat("before the tab");
      await waitFor("the line in the log", async () => {
        const { lines } = await arena.api.log("arena", 0);
        return lines.some(({ text }) => text === "before the tab");
      });
      await visitor.show("Events");
      await page.getByText("the match begins").waitFor();
      await page.getByText("before the tab").waitFor();
    }));

  it("a_file_that_somebody_else_saved_is_not_overwritten_without_a_question", () =>
    withVisitor("code", async (visitor) => {
      await visitor.page.getByRole("button", { name: "score.luau" }).click();
      await visitor.page.locator(".cm-content").getByText("return").click();
      await visitor.page.keyboard.press("Control+Home");
      await visitor.page.keyboard.type("-- mine\n");
      await arena.write("score.luau", "-- theirs\nreturn { max = 4 }\n");
      await visitor.page.keyboard.press("Control+s");
      await visitor.page.getByRole("button", { name: "Load theirs" }).waitFor();
      expect(await arena.read("score.luau")).toContain("-- theirs");
      await visitor.page.getByRole("button", { name: "Load theirs" }).click();
      await visitor.page.locator(".cm-content").getByText("-- theirs").waitFor();
    }));

  it("a_moment_is_stepped_back_replayed_with_a_fix_and_saved_as_a_test_that_passes", () =>
    withVisitor("code", async (visitor) => {
      const { page } = visitor;
      // A replay ends where the rules changed, and earlier tests change them.
      await arena.history(60 * 12);
      expect(await arena.score()).toBeGreaterThan(0);
      await visitor.show("Time");
      await page.getByRole("button", { name: "10 s ago" }).click();
      const card = page.getByRole("article");
      await card.getByText(/^step \d+$/).waitFor();
      const shown = Number((await card.locator("b").innerText()).slice(5));
      await card.getByRole("button", { name: "−1 step" }).click();
      await waitFor("the step before", async () => {
        const problem = await page.locator(".message.problem").allInnerTexts();
        expect(problem).toEqual([]);
        return (await card.locator("b").innerText()) === `step ${shown - 1}`;
      });
      // The moment precedes the fix, however long a busy machine takes for it.
      await visitor.show("Code");
      await page.locator(".cm-content").getByText("local POINTS = 2").click();
      await page.keyboard.press("End");
      await page.keyboard.press("Backspace");
      await page.keyboard.type("1");
      await page.keyboard.press("Control+s");
      await waitFor("the fix", async () => (await arena.read("world.luau")).includes("POINTS = 1"));
      await visitor.show("Time");
      await card.getByText("Replay and test").click();
      await card.getByRole("button", { name: "Replay with today's rules" }).click();
      // The recorded world counted 2 points a second, and the replayed world counts 1.
      const row = page.getByRole("row", { name: /^state score/ });
      await row.waitFor();
      const [recorded, replayed] = (await row.locator("td").allInnerTexts()).slice(2).map(Number);
      expect(replayed).toBeGreaterThan(0);
      expect(recorded).toBeGreaterThan(replayed!);
      await card.getByRole("textbox", { name: "Name" }).fill("score");
      await card.getByRole("button", { name: "Save as a test" }).click();
      await waitFor("the test", async () => (await visitor.message()).includes("tests/score.luau"));
      const { stdout } = await run(nowcastBinary(), ["test", arena.folder]);
      expect(stdout).toMatch(/ok +score \(/);
      expect(stdout).toContain("1 passed, 0 failed");
    }));

  it("a_loss_of_5_percent_is_shown_by_the_figures_of_the_connection", () =>
    withVisitor("net", async ({ page }) => {
      const figure = (name: string) => page.locator(`[data-figure="${name}"]`);
      await waitFor("the room", async () => (await figure("status").innerText()) === "open");
      for (const direction of ["up", "down"]) {
        await page.locator(`[data-name="${direction}-loss"]`).evaluate((slider: HTMLInputElement) => {
          slider.value = "5";
          slider.dispatchEvent(new Event("input", { bubbles: true }));
        });
      }
      await waitFor("lost packets", async () => {
        const share = Number.parseFloat(await figure("lost down").innerText());
        return share > 1 && share < 12;
      });
      await page.getByRole("button", { name: "Satellite" }).click();
      const roundTrip = async () => Number.parseFloat(await figure("round trip").innerText());
      await waitFor("a long round trip", async () => (await roundTrip()) > 400);
      await page.getByRole("button", { name: "No effect" }).click();
      await waitFor("a short round trip", async () => (await roundTrip()) < 150);
    }));
});

describe("the page of a room", () => {
  it("requests_nothing_of_the_studio", async () => {
    const context = await browser.newContext();
    await serveBuiltPage(context);
    const page = await context.newPage();
    const requested: string[] = [];
    page.on("request", (request) => requested.push(new URL(request.url()).pathname));
    await page.goto(`${arena.server.url}/r/arena?name=Dan&quality=low&enter=1`);
    await waitFor("the room", () =>
      page.evaluate(() => (window as Partial<Window>).nowcast?.world?.status === "open"),
    );
    expect(requested.some((path) => path.startsWith("/assets/"))).toBe(true);
    expect(requested.filter((path) => path.startsWith("/studio"))).toEqual([]);
    await context.close();
  });
});

describe("the studio of a server that requires tokens", () => {
  let guarded: Arena;
  let keyFolder: string;
  const tokenFor = async (...options: string[]): Promise<string> => {
    const { stdout } = await run(nowcastBinary(), [
      "token",
      "--key-file",
      join(keyFolder, "key"),
      ...options,
    ]);
    return stdout.trim();
  };

  beforeAll(async () => {
    keyFolder = await mkdtemp(join(tmpdir(), "nowcast-studio-key-"));
    await run(nowcastBinary(), ["token", "--make-key", join(keyFolder, "key")]);
    guarded = await Arena.start(["--token-key-file", join(keyFolder, "key")]);
    await guarded.join("Ada", "arena", await tokenFor("--name", "Ada"));
  });

  afterAll(async () => {
    await guarded?.stop();
    await rm(keyFolder, { recursive: true, force: true });
  });

  it("a_page_without_a_token_asks_for_one", async () => {
    const context = await browser.newContext();
    await serveBuiltPage(context);
    const page = await context.newPage();
    await page.goto(guarded.url);
    const reason = page.getByRole("alert");
    await reason.waitFor();
    const first = await reason.innerText();
    expect(first).toContain("token");
    await page.getByLabel("Token").fill("wrong");
    await page.getByLabel("Token").press("Enter");
    await waitFor("another reason", async () => (await reason.innerText()) !== first);
    await page.getByLabel("Token").fill(await tokenFor("--role", "editor"));
    await page.getByLabel("Token").press("Enter");
    await page.getByRole("tab", { name: "World" }).waitFor();
    await page.getByText("editor", { exact: true }).waitFor();
    await context.close();
  });

  it("an_inspector_sees_values_without_means_to_change_them", async () => {
    const token = await tokenFor("--role", "inspector");
    const visitor = await StudioVisitor.open(browser, guarded.url, { tab: `token=${token}` });
    await visitor.page.getByRole("treeitem", { name: /block/ }).click();
    await visitor.page.locator('[id^="entity-"]').first().click();
    await visitor.page.getByRole("region", { name: "Entity" }).waitFor();
    await visitor.page.getByText("hp", { exact: true }).waitFor();
    expect(await visitor.page.getByRole("button", { name: /^Edit|Despawn|Spawn/ }).count()).toBe(0);
    expect(visitor.errors).toEqual([]);
    await visitor.leave();
  });
});
