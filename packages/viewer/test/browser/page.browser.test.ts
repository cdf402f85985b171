/** The page around the world: its texts, its displays, and the focus of the keyboard. */
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser, Visitor } from "./browser.js";
import { contrasts } from "./contrast.js";
import { layoutOf } from "./layout.js";

const SCREENSHOTS = fileURLToPath(new URL("../../../../target/screenshots", import.meta.url));
const SIZES = [
  { width: 1280, height: 720 },
  { width: 1100, height: 800 },
  { width: 390, height: 844, hasTouch: true },
  { width: 844, height: 390, hasTouch: true },
] as const;

let browser: Browser;
let server: ServerProcess;

beforeAll(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  server = await ServerProcess.start(0, ["--rooms-per-address-max", "64"]);
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

const focused = (page: Page): Promise<string> => page.evaluate(() => document.activeElement?.id ?? "");

describe("sound", () => {
  const isAudible = (page: Page): Promise<boolean> =>
    page.evaluate(() => window.nowcast.viewer.stage.sounds.isAudible);

  it("is_on_after_the_first_click", async () => {
    const visitor = await Visitor.enter(browser, server, { name: "Ada", room: "sound" });
    expect(await isAudible(visitor.page)).toBe(false);
    await visitor.page.mouse.click(400, 250);
    await waitFor("sound", () => isAudible(visitor.page));
    await visitor.leave();
  });

  it("stays_off_after_a_click_if_the_settings_turn_it_off", async () => {
    const visitor = await Visitor.enter(browser, server, { name: "Ada", room: "quiet" });
    await visitor.page.evaluate(() => window.nowcast.viewer.change({ sound: false }));
    await visitor.page.mouse.click(400, 250);
    await waitFor("the click", () => visitor.page.evaluate(() => navigator.userActivation.hasBeenActive));
    expect(await isAudible(visitor.page)).toBe(false);
    await visitor.page.evaluate(() => window.nowcast.viewer.change({ sound: true }));
    await waitFor("sound", () => isAudible(visitor.page));
    await visitor.leave();
  });
});

describe.each(SIZES)("at $width x $height", ({ width, height, ...rest }) => {
  const viewport = { width, height };

  it("start_page_shows_all_worlds_without_a_shift", async () => {
    const visitor = await Visitor.knock(browser, server, {
      name: "Ada",
      room: "lobby",
      atStart: true,
      viewport,
      ...rest,
      before: () => {
        const shifts: number[] = [];
        Object.assign(window, { shifts });
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) shifts.push((entry as unknown as { value: number }).value);
        }).observe({ type: "layout-shift", buffered: true });
      },
    });
    const { page } = visitor;
    await waitFor("the list of worlds", async () => (await page.locator("#worlds li").count()) > 3);
    await waitFor("the card", () => page.locator("#enter").isVisible());
    await page.evaluate(() => Promise.all(document.getAnimations().map(({ finished }) => finished)));
    const cards = await page.locator("#worlds button").evaluateAll((buttons) =>
      buttons.map((button) => {
        const { top, bottom, left } = button.getBoundingClientRect();
        return { top, bottom, left, height: Math.round(bottom - top) };
      }),
    );
    const count = (values: readonly number[]): number => new Set(values.map(Math.round)).size;
    expect(count(cards.map((card) => card.height)), "heights of cards").toBe(1);
    const isUpright = width < height;
    expect(count(cards.map(({ left }) => left))).toBe(isUpright ? cards.length : height < 520 ? 2 : 4);
    expect(count(cards.map(({ top }) => top)) === 1, "one row").toBe(isUpright);
    const panel = await page.locator(".below").boundingBox();
    if (isUpright) expect(panel!.y + panel!.height).toBeLessThan(1_000);
    else if (height < 520) expect(panel!.y + panel!.height).toBeLessThan(height);
    else {
      const card = page.locator("#worlds button").first();
      const [title, text] = [await card.locator("b").boundingBox(), await card.locator("span").boundingBox()];
      expect(title!.y + title!.height, "the window ends below the title").toBeLessThanOrEqual(height);
      expect(text!.y, "the window ends above the text").toBeGreaterThanOrEqual(height);
    }
    const bottoms = await page.evaluate(() =>
      ["name", "outfit-open", "enter"].map(
        (id) => document.getElementById(id)!.getBoundingClientRect().bottom,
      ),
    );
    for (const bottom of bottoms) expect(bottom, "a name is given without scrolling").toBeLessThan(height);
    await page.screenshot({ path: `${SCREENSHOTS}/start-${width}x${height}.png` });
    const shifts = await page.evaluate(() => (window as unknown as { shifts: number[] }).shifts);
    expect(shifts.reduce((sum, shift) => sum + shift, 0)).toBeLessThan(0.02);
    await visitor.leave();
  });

  it("panels_of_the_page_do_not_cover_each_other", async () => {
    const visitor = await Visitor.enter(browser, server, {
      name: "Ada",
      room: "football",
      viewport,
      ...rest,
    });
    const { page } = visitor;
    await waitFor("the score", () => page.locator("#score").isVisible());
    expect(await page.locator("#figures").isVisible(), "figures are closed at first").toBe(false);
    const hasTouch = "hasTouch" in rest;
    expect(await page.locator("#hints").isVisible(), "keys are shown where there are keys").toBe(!hasTouch);
    await page.evaluate(() => {
      window.nowcast.viewer.hud.say("A notice of the page, which may be as long as a sentence is.");
      window.nowcast.viewer.hud.chat.addEvent("Ben is here");
    });
    await page.screenshot({ path: `${SCREENSHOTS}/hud-${width}x${height}.png` });
    const panels = [
      "#place",
      ".top-right",
      "#board",
      "#banner",
      "#notice",
      "#screen-list",
      "#chat-log li",
      "#chat-form",
      "#hints",
      ".stick-rest",
      "#touch-chat",
      "#touch-jump",
      "#touch-actions button",
    ].filter((panel) => !hasTouch || panel !== "#chat-form");
    expect((await layoutOf(page, panels)).overlaps).toEqual([]);

    if (hasTouch) await page.locator("#hud-toggle").tap();
    else await page.keyboard.press("KeyH");
    await waitFor("the figures", () => page.locator("#figures").isVisible());
    await page.screenshot({ path: `${SCREENSHOTS}/figures-${width}x${height}.png` });
    expect((await layoutOf(page, [...panels, "#figures"])).overlaps).toEqual([]);
    expect(visitor.errors).toEqual([]);
    await visitor.leave();
  });
});

it("text_has_a_contrast_of_4_5_over_anything", async () => {
  const visitor = await Visitor.enter(browser, server, { name: "Ada", room: "football-contrast" });
  const { page } = visitor;
  await waitFor("the score", () => page.locator("#score").isVisible());
  await page.evaluate(() => window.nowcast.viewer.hud.chat.addEvent("Ben is here"));
  const shown = ["#place span", "#place small", "#clock", ".side b", ".chat li.event", "#hints span"];
  for (const selector of [...shown, "#chat-input::placeholder", "#world-prompt"]) {
    expect(await contrasts(page, selector), selector).toBeGreaterThanOrEqual(4.5);
  }
  await page.locator("#place").hover();
  for (const selector of ["#place span", "#place small"]) {
    expect(await contrasts(page, selector), `${selector}, hovered`).toBeGreaterThanOrEqual(4.5);
  }
  await visitor.leave();

  const outside = await Visitor.knock(browser, server, { name: "", room: "lobby", atStart: true });
  await waitFor("the card", () => outside.page.locator("#worlds li button").first().isVisible());
  const inputs = ["#name::placeholder", ".tagline", ".field span", ".share", "#worlds h2", "#worlds b"];
  for (const selector of inputs) {
    expect(await contrasts(outside.page, selector), selector).toBeGreaterThanOrEqual(4.5);
  }
  await outside.leave();
});

it("clock_is_not_spoken_each_second_and_score_is_written_when_it_changes", async () => {
  const ada = await Visitor.enter(browser, server, { name: "Ada", room: "football-clock" });
  const ben = await Visitor.enter(browser, server, { name: "Ben", room: "football-clock" });
  const { page } = ada;
  await waitFor("the clock", () => page.locator("#clock").isVisible());
  await page.evaluate(() => {
    const writes = { score: 0, clock: 0 };
    Object.assign(window, { writes });
    for (const id of ["score", "clock"] as const) {
      const note = (): void => {
        writes[id]++;
      };
      const options = { childList: true, characterData: true, subtree: true };
      new MutationObserver(note).observe(document.getElementById(id)!, options);
    }
  });
  const writes = (): Promise<{ score: number; clock: number }> =>
    page.evaluate(() => (window as unknown as { writes: { score: number; clock: number } }).writes);
  await waitFor("the clock to tick", async () => (await writes()).clock >= 2);
  expect((await writes()).score).toBe(0);
  expect(await page.locator("#clock").getAttribute("role")).toBe("timer");
  expect(await page.locator("#board").getAttribute("role")).toBeNull();
  await ada.leave();
  await ben.leave();
});

it("click_on_a_button_leaves_the_keyboard_with_the_world", async () => {
  const visitor = await Visitor.enter(browser, server, { name: "Ada", room: "focus" });
  const { page } = visitor;
  await page.locator("#hud-toggle").click();
  expect(await page.locator("#figures").isVisible()).toBe(true);
  await page.keyboard.press("Space");
  expect(await page.locator("#figures").isVisible(), "Space jumps and presses no button").toBe(true);
  expect(await focused(page)).toBe("world");

  await page.locator("#settings-open").click();
  await page.keyboard.press("Escape");
  await waitFor("the dialog to close", async () => !(await page.locator("#settings").isVisible()));
  await page.keyboard.press("Enter");
  await page.keyboard.type("hello everybody");
  await page.keyboard.press("Enter");
  await waitFor("the line of chat", async () =>
    (await page.locator("#chat-log").textContent())?.includes("hello everybody"),
  );
  const name = await page.evaluate(() => {
    const { world } = window.nowcast;
    return world!.players.get(world!.playerId!)?.name;
  });
  expect(name).toBe("Ada");
  await visitor.leave();
});

it("help_is_answered_on_the_page_and_said_to_nobody", async () => {
  const ada = await Visitor.enter(browser, server, { name: "Ada", room: "talk" });
  const ben = await Visitor.enter(browser, server, { name: "Ben", room: "talk" });
  const say = async (line: string): Promise<void> => {
    await ada.page.keyboard.press("Enter");
    await ada.page.keyboard.type(line);
    await ada.page.keyboard.press("Enter");
  };
  // The first Enter closes the card of the world.
  await ada.page.locator("#intro").waitFor();
  await ada.page.keyboard.press("Escape");
  await say("/help");
  await waitFor("the answer", async () =>
    (await ada.page.locator("#chat-log").textContent())?.includes("W A S D"),
  );
  await say("done");
  const log = ben.page.locator("#chat-log");
  await waitFor("a later line", async () => (await log.textContent())?.includes("done"));
  expect(await log.textContent()).not.toContain("help");
  await ada.leave();
  await ben.leave();
});

it("lines_of_chat_that_are_not_passed_on_are_shown_with_the_reason", async () => {
  const visitor = await Visitor.enter(browser, server, { name: "Ada", room: "quick" });
  const { page } = visitor;
  await page.evaluate(() => {
    for (let line = 1; line <= 40; line++) window.nowcast.world!.chat(`line ${line}`);
  });
  const events = page.locator("#chat-log li.event");
  await waitFor("the unsaid line", async () =>
    (await events.allTextContents()).some((text) => /Not sent: “line \d+”/.test(text)),
  );
  await visitor.leave();
});

it("chat_of_a_room_is_gone_in_the_next_one", async () => {
  const visitor = await Visitor.enter(browser, server, { name: "Ada", room: "first" });
  const { page } = visitor;
  // The first Enter closes the card of the world.
  await page.locator("#intro").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
  await page.keyboard.type("only in the first room");
  await page.keyboard.press("Enter");
  const log = page.locator("#chat-log");
  await waitFor("the line", async () => (await log.textContent())?.includes("only in the first"));
  await page.locator("#settings-open").click();
  await page.locator("#set-leave").click();
  await page.locator("#room").fill("second");
  await page.locator("#enter").click();
  await visitor.isIn();
  expect(await log.textContent()).not.toContain("only in the first");
  await visitor.leave();
});

describe("an address", () => {
  it("in_capitals_leads_to_the_room_in_lower_case_and_says_so", async () => {
    const visitor = await Visitor.enter(browser, server, { name: "Ada", room: "abc", path: "/r/ABC" });
    expect(new URL(visitor.page.url()).pathname).toBe("/r/abc");
    const log = visitor.page.locator("#chat-log");
    await waitFor("why", async () => /“ABC” leads to “abc”/.test((await log.textContent()) ?? ""));
    const notice = visitor.page.locator("#notice");
    await waitFor("which world", async () =>
      /No world is called abc/.test((await notice.textContent()) ?? ""),
    );
    await visitor.leave();
  });

  it("that_no_room_can_have_stays_at_the_start_page_and_says_why", async () => {
    const path = "/r/caf%C3%A9%20au%20lait";
    const visitor = await Visitor.knock(browser, server, { name: "Ada", room: "lobby", path });
    const note = visitor.page.locator("#start-note");
    await waitFor("why", () => note.isVisible());
    expect(await note.textContent()).toContain("“café au lait” is not the name of a room");
    expect(await visitor.page.evaluate(() => window.nowcast.world === undefined)).toBe(true);
    await visitor.leave();
  });
});

it("room_that_ended_offers_another_room", async () => {
  const small = await ServerProcess.start(0, ["--players-max", "1"]);
  const inside = await Visitor.enter(browser, small, { name: "Ada", room: "small" });
  const outside = await Visitor.knock(browser, small, { name: "Bob", room: "small" });
  const other = outside.page.locator("#banner-other");
  await waitFor("the offer", () => other.isVisible());
  await other.click();
  await waitFor("the start page", () => outside.page.locator("#enter").isVisible());
  expect(await outside.page.locator("#hud").isVisible()).toBe(false);
  await outside.leave();
  await inside.leave();
  await small.stop();
});

it("scripts_and_shaders_of_the_world_do_not_delay_entering", async () => {
  const visitor = await Visitor.knock(browser, server, {
    name: "Ada",
    room: "preload",
    atStart: true,
    before: () => {
      const counts = { links: 0, logs: 0 };
      Object.assign(window, { counts });
      const gl = WebGL2RenderingContext.prototype;
      const { linkProgram, getProgramInfoLog } = gl;
      gl.linkProgram = function (program) {
        counts.links++;
        linkProgram.call(this, program);
      };
      gl.getProgramInfoLog = function (program) {
        counts.logs++;
        return getProgramInfoLog.call(this, program);
      };
    },
  });
  const { page } = visitor;
  await waitFor("the card", () => page.locator("#enter").isVisible());
  await page.waitForLoadState("networkidle");
  const late: string[] = [];
  page.on("request", (request) => {
    if (request.resourceType() === "script") late.push(request.url());
  });
  await page.locator("#enter").click();
  await visitor.isIn();
  expect(late).toEqual([]);
  const counts = await page.evaluate(
    () => (window as unknown as { counts: { links: number; logs: number } }).counts,
  );
  expect(counts.links).toBeGreaterThan(2);
  expect(counts.logs).toBe(0);
  await visitor.leave();
});

it("lost_graphics_context_is_explained_and_comes_back_with_its_sky", async () => {
  const visitor = await Visitor.enter(browser, server, { name: "Ada", room: "graphics" });
  const { page } = visitor;
  const panel = page.locator("#picture-lost");
  const flip = (what: "loseContext" | "restoreContext"): Promise<void> =>
    page.evaluate((method) => {
      const held = window as unknown as { lose?: WEBGL_lose_context };
      held.lose ??= window.nowcast.viewer.stage.renderer.getContext().getExtension("WEBGL_lose_context")!;
      held.lose[method]();
    }, what);
  /** The mean brightness of the painted sky, 0 to 255. */
  const sky = (): Promise<number> =>
    page.evaluate(() => {
      const { stage } = window.nowcast.viewer;
      stage.renderer.render(stage.scene, stage.camera);
      const gl = stage.renderer.getContext() as WebGL2RenderingContext;
      const { drawingBufferWidth: width, drawingBufferHeight: height } = gl;
      const pixels = new Uint8Array(width * 4);
      gl.readPixels(0, height - 2, width, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
      return pixels.reduce((sum, value, i) => (i % 4 === 3 ? sum : sum + value), 0) / (width * 3);
    });
  await visitor.drag(0, -120);
  await waitFor("a sky", async () => (await sky()) > 40);
  await flip("loseContext");
  await waitFor("the explanation", () => panel.isVisible());
  expect(await panel.textContent()).toMatch(/picture is gone.*graphics driver/is);
  await page.screenshot({ path: `${SCREENSHOTS}/picture-lost.png` });
  await flip("restoreContext");
  await waitFor("the picture", async () => !(await panel.isVisible()));
  await waitFor("a sky that is not black", async () => (await sky()) > 40);
  await page.screenshot({ path: `${SCREENSHOTS}/picture-restored.png` });
  await visitor.leave();
});

describe("a connection", () => {
  /**
   * A window so small that software draws it in a few milliseconds. A page that draws slowly cannot distinguish silence
   * from its own stall.
   */
  const SMALL = { width: 320, height: 200 };
  /** Keeps each text that the banner showed. */
  const watchBanner = (page: Page): Promise<void> =>
    page.evaluate(() => {
      const said: string[] = [];
      Object.assign(window, { said });
      const banner = document.getElementById("banner")!;
      const note = (): void => {
        if (!banner.hidden && said.at(-1) !== banner.textContent) said.push(banner.textContent ?? "");
      };
      new MutationObserver(note).observe(banner, { attributes: true, childList: true, subtree: true });
    });
  const said = (page: Page): Promise<string[]> =>
    page.evaluate(() => (window as unknown as { said: string[] }).said);
  /** Counts snapshots, and returns the age of the newest, in milliseconds. */
  const watchSnapshots = (page: Page): Promise<void> =>
    page.evaluate(() => {
      Object.assign(window, { arrivedAtMs: performance.now() });
      window.nowcast.viewer.view!.world.on("snapshot", ({ receivedAtMs }) =>
        Object.assign(window, { arrivedAtMs: receivedAtMs }),
      );
    });
  const silentMs = (page: Page): Promise<number> =>
    page.evaluate(() => performance.now() - (window as unknown as { arrivedAtMs: number }).arrivedAtMs);

  it("that_hiccups_for_half_a_second_is_not_spoken_of", async () => {
    const visitor = await Visitor.enter(browser, server, { name: "Ada", room: "hiccup", viewport: SMALL });
    const { page } = visitor;
    await watchBanner(page);
    await watchSnapshots(page);
    server.freeze();
    await waitFor("half a second of silence", async () => (await silentMs(page)) > 500);
    server.thaw();
    await waitFor("news", async () => (await silentMs(page)) < 200);
    await visitor.isIn();
    const shown = await said(page);
    expect(shown.filter((text) => /again|lost/i.test(text))).toEqual([]);
    await visitor.leave();
  });

  it("that_is_silent_is_called_unstable_and_soon_lost", async () => {
    const visitor = await Visitor.enter(browser, server, { name: "Ada", room: "silence", viewport: SMALL });
    const { page } = visitor;
    await watchBanner(page);
    server.freeze();
    await waitFor("the word", async () => (await said(page)).some((text) => /unstable/i.test(text)));
    await waitFor("the loss", async () => /lost/i.test((await said(page)).at(-1) ?? ""));
    server.thaw();
    await waitFor("the banner to go", async () => !(await page.locator("#banner").isVisible()));
    await visitor.leave();
  });
});
