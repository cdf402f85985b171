import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser } from "../../../viewer/test/browser/browser.js";
import { ContractServer } from "../contract-server.js";
import { StudioVisitor } from "./studio-visitor.js";

let browser: Browser;
let worlds: ServerProcess;
let server: ContractServer;
/** A server whose rooms can be joined. */
let joinable: ContractServer;

beforeAll(async () => {
  worlds = await ServerProcess.start();
  server = await ContractServer.start("arena", 300);
  joinable = await ContractServer.start("playground", 300, worlds.port);
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  await joinable?.stop();
  await worlds?.stop();
});

async function withVisitor(
  tab: string,
  use: (visitor: StudioVisitor) => Promise<void>,
  { url } = server,
): Promise<void> {
  const visitor = await StudioVisitor.open(browser, url, { tab });
  try {
    await use(visitor);
    expect(visitor.errors).toEqual([]);
  } finally {
    // An open picture would slow down the other tests.
    await visitor.leave();
  }
}

describe("the studio's page", () => {
  it("an_edited_attribute_is_shown_in_another_tab", async () => {
    const [ada, ben] = [
      await StudioVisitor.open(browser, server.url),
      await StudioVisitor.open(browser, server.url),
    ];
    await ada.select(7);
    await ben.select(7);
    await ada.page.getByRole("button", { name: /^Edit hp/ }).click();
    const input = ada.page.getByRole("textbox", { name: "hp" });
    await input.fill("77");
    await input.press("Enter");
    await ben.page.getByRole("button", { name: "Edit hp, now 77" }).waitFor();
    expect(server.world.commands.at(-1)).toEqual({ type: "set_attribute", entity: 7, name: "hp", value: 77 });
    // The world refuses a text there, and the reason is shown.
    await ada.page.getByRole("button", { name: /^Edit hp/ }).click();
    await input.fill('"many"');
    await input.press("Enter");
    await waitFor("the reason", async () => (await ada.message()).includes("hp has another type"));
    expect([...ada.errors, ...ben.errors]).toEqual([]);
    await ada.leave();
    await ben.leave();
  });

  it("names_and_values_of_strangers_are_text", () =>
    withVisitor("clients", async (visitor) => {
      await visitor.page.getByText("<b>Ada</b> (1)").waitFor();
      expect(await visitor.page.locator("td b").count()).toBe(0);
      await visitor.show("World");
      await visitor.page.getByRole("searchbox", { name: "Search entities" }).fill("kind:goal");
      await visitor.page.getByText("<img src=x onerror=alert(1)>").waitFor();
      expect(await visitor.page.locator("img").count()).toBe(0);
    }));

  it("a_mistake_is_marked_while_typed_and_the_error_of_running_rules_is_at_its_line", () =>
    withVisitor("code", async (visitor) => {
      const text = visitor.page.locator(".cm-content");
      await text.getByText("local GOAL = 3").click();
      await visitor.page.keyboard.press("End");
      await visitor.page.keyboard.type(" + oops");
      await visitor.page.getByRole("button", { name: "world.luau:2 unknown global oops" }).waitFor();
      await visitor.page.locator(".cm-lintRange-error").waitFor();
      // The print of another line is beside that line.
      expect(await visitor.page.locator(".cm-line", { hasText: "local scored" }).innerText()).toContain(
        "the match begins",
      );
      await visitor.page.keyboard.press("Control+s");
      await visitor.page.locator(".cm-line", { hasText: "oops" }).locator(".note-error").waitFor();
      expect(server.world.files.get("world.luau")!.text).toContain("local GOAL = 3 + oops");
      // The repaired rules have no error.
      for (let count = 0; count < " + oops".length; count += 1)
        await visitor.page.keyboard.press("Backspace");
      await visitor.page.getByText("no mistakes").waitFor();
      await visitor.page.keyboard.press("Control+s");
      await visitor.page.locator(".note-error").waitFor({ state: "detached" });
    }));

  it("a_file_that_somebody_else_saved_is_not_overwritten_without_a_question", () =>
    withVisitor("code", async (visitor) => {
      await visitor.page.getByRole("button", { name: "lib/score.luau" }).click();
      await visitor.page.locator(".cm-content").getByText("return").click();
      await visitor.page.keyboard.press("Control+Home");
      await visitor.page.keyboard.type("-- mine\n");
      server.world.write("lib/score.luau", "-- theirs\n");
      await visitor.page.keyboard.press("Control+s");
      await visitor.page.getByRole("button", { name: "Load theirs" }).waitFor();
      expect(server.world.files.get("lib/score.luau")!.text).toBe("-- theirs\n");
      await visitor.page.getByRole("button", { name: "Load theirs" }).click();
      await visitor.page.locator(".cm-content").getByText("-- theirs").waitFor();
    }));

  it("a_moment_is_stepped_replayed_with_todays_rules_and_saved_as_a_test", () =>
    withVisitor("time", async (visitor) => {
      const { page } = visitor;
      const begin = server.world.tick;
      await page.getByRole("button", { name: "10 s ago" }).click();
      const card = page.getByRole("article");
      await card.getByText(/^step \d+$/).waitFor();
      const shown = Number((await card.locator("b").innerText()).slice(5));
      expect(shown).toBeGreaterThanOrEqual(begin - 600);
      await card.getByRole("button", { name: "−1 step" }).click();
      await card.getByText(`step ${shown - 1}`, { exact: true }).waitFor();
      server.world.entities.get(3)!.attributes["hp"] = 4;
      await card.getByText("Replay and test").click();
      await card.getByRole("button", { name: "Replay with today's rules" }).click();
      await page.getByRole("cell", { name: "attributes.hp" }).waitFor();
      await card.getByRole("textbox", { name: "Name" }).fill("late-goal");
      await card.getByRole("button", { name: "Save as a test" }).click();
      await waitFor("the test", async () => (await visitor.message()).includes("tests/late-goal.luau"));
      expect(server.world.tests).toEqual(["late-goal"]);
    }));

  it("a_loss_of_5_percent_is_shown_by_the_figures_of_the_connection", () =>
    withVisitor(
      "net",
      async (visitor) => {
        const { page } = visitor;
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
        await waitFor(
          "a long round trip",
          async () => Number.parseFloat(await figure("round trip").innerText()) > 400,
        );
        await page.getByRole("button", { name: "No effect" }).click();
        await waitFor(
          "a short round trip",
          async () => Number.parseFloat(await figure("round trip").innerText()) < 150,
        );
      },
      joinable,
    ));

  it("a_page_without_a_token_asks_for_one", async () => {
    server.token = "secret";
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(server.url);
    await page.getByLabel("Token").fill("secret");
    await page.getByLabel("Token").press("Enter");
    await page.getByRole("tab", { name: "World" }).waitFor();
    server.token = undefined;
    await context.close();
  });

  it("an_inspector_sees_values_without_means_to_change_them", async () => {
    server.role = "inspector";
    await withVisitor("world", async (visitor) => {
      await visitor.select(9);
      await visitor.page.getByText("attributes", { exact: false }).first().waitFor();
      expect(await visitor.page.getByRole("button", { name: /^Edit|Despawn|Spawn/ }).count()).toBe(0);
    });
    server.role = "editor";
  });
});
