/** Entering a world: the gallery of the start page, the card with the goal, the first direction, and the list of people. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { plugInPad } from "../screenshots/lone-player.js";
import { drawCoarsely, launchBrowser, Visitor } from "./browser.js";
import { serveBuiltPage } from "./built-page.js";

const ROOT = new URL("../../../../", import.meta.url);

let browser: Browser;
let server: ServerProcess;

beforeAll(async () => {
  server = await ServerProcess.start(0, ["--rooms-per-address-max", "64"]);
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

it("each_world_of_the_start_page_has_a_picture_and_a_goal_and_one_click_enters_it", async () => {
  const visitor = await Visitor.knock(browser, server, { name: "Ada", room: "", path: "/", atStart: true });
  const { page } = visitor;
  const cards = page.locator("#worlds li");
  await waitFor("the worlds", async () => (await cards.count()) > 3);
  const isDrawn = (): Promise<boolean> =>
    page.evaluate(() => {
      const images = [...document.querySelectorAll<HTMLImageElement>("#worlds img")];
      return images.length > 0 && images.every(({ naturalWidth }) => naturalWidth > 0);
    });
  const [background] = await page
    .locator("#worlds img")
    .evaluateAll((images) => images.map((image) => getComputedStyle(image).backgroundImage));
  expect(background, "no empty frame waits for a picture").toContain("gradient");
  // Pictures are loaded when their cards come near the window.
  for (const card of await cards.all()) await card.scrollIntoViewIfNeeded();
  await waitFor("the pictures", isDrawn);
  const texts = await cards.allTextContents();
  expect(await page.locator("#worlds img").count()).toBe(texts.length);
  expect(texts.find((text) => text.startsWith("football"))).toContain("Score more goals");
  await page.locator('[data-world="football"]').click();
  await visitor.isIn();
  expect(new URL(page.url()).pathname).toBe("/r/football");
  expect(visitor.errors).toEqual([]);
  await visitor.leave();
});

it("a_card_enters_under_the_suggested_name_and_without_a_name_as_a_guest", async () => {
  for (const isNamed of [true, false]) {
    const visitor = await Visitor.knock(browser, server, { name: "", room: "", path: "/", atStart: true });
    const { page } = visitor;
    const name = page.locator("#name");
    await waitFor("a name", async () => /^[A-Z][a-z]+ [A-Z][a-z]+$/.test(await name.inputValue()));
    const suggested = await name.inputValue();
    if (!isNamed) await name.fill("");
    await page.locator('[data-world="playground"]').click();
    await visitor.isIn();
    expect(await visitor.ownName()).toMatch(isNamed ? suggested : /^guest/);
    await visitor.leave();
  }
});

it("worlds_have_the_order_of_their_list_and_the_first_one_is_offered", async () => {
  const file = fileURLToPath(new URL("worlds/worlds.txt", ROOT));
  const lines = readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "");
  const listed = await ServerProcess.start(0, [file]);
  const visitor = await Visitor.knock(browser, listed, { name: "Ada", room: "", path: "/", atStart: true });
  const { page } = visitor;
  await page.locator("#start.ready").waitFor();
  expect(await page.locator("#enter").innerText()).toBe("Enter Playground");
  const shown = await page
    .locator("#worlds :is(h3, button)")
    .evaluateAll((elements) =>
      elements.map((element) => (element as HTMLElement).dataset["world"] ?? `${element.textContent}:`),
    );
  expect(shown.length).toBeGreaterThan(10);
  expect(shown).toEqual(lines);
  expect(visitor.errors).toEqual([]);
  await visitor.leave();
  await listed.stop();
});

it("worlds_are_one_stop_of_the_tab_key_in_which_arrow_keys_move", async () => {
  const viewport = { width: 1280, height: 720 };
  const visitor = await Visitor.knock(browser, server, {
    ...{ name: "Ada", room: "", path: "/", atStart: true, viewport },
  });
  const { page } = visitor;
  await page.locator("#start.ready").waitFor();
  const focused = (): Promise<string | undefined> =>
    page.evaluate(() => (document.activeElement as HTMLElement).dataset["world"]);
  const worlds = await page
    .locator("#worlds button")
    .evaluateAll((cards) => cards.map((card) => (card as HTMLElement).dataset["world"]));
  await page.locator("#enter").focus();
  const visited = [];
  for (const key of ["Tab", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "ArrowUp"]) {
    await page.keyboard.press(key);
    visited.push(worlds.indexOf(await focused()));
  }
  expect(visited).toEqual([0, 1, 5, 4, 0, 0]);
  await page.keyboard.press("Tab");
  expect(await page.evaluate(() => document.activeElement?.id)).toBe("room");
  await visitor.leave();
});

it("a_gamepad_enters_by_the_button_that_the_page_names", async () => {
  const visitor = await Visitor.knock(browser, server, {
    ...{ name: "Ada", room: "", path: "/", atStart: true, before: plugInPad },
  });
  const { page } = visitor;
  await page.locator("#start.ready").waitFor();
  const press = async (button: number): Promise<void> => {
    for (const pressed of [true, false]) {
      await page.evaluate(
        async ([button, pressed]) => {
          window.pad.buttons[button]!.pressed = pressed;
          for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
        },
        [button, pressed] as const,
      );
    }
  };
  expect(await page.locator("#enter kbd").innerText()).toBe("A");
  await press(13);
  await press(15);
  expect(await page.evaluate(() => document.activeElement?.textContent)).toContain("football");
  await press(0);
  await visitor.isIn();
  expect(new URL(page.url()).pathname).toBe("/r/football");
  expect(visitor.errors).toEqual([]);
  await visitor.leave();
});

it("enter_before_the_script_has_arrived_is_not_lost_and_neither_is_the_name", async () => {
  const context = await browser.newContext({ viewport: { width: 800, height: 500 } });
  await serveBuiltPage(context);
  await drawCoarsely(context);
  const page = await context.newPage();
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(/assets\/index-[^/]*\.js$/, async (route) => {
    await held;
    await route.fallback();
  });
  await page.goto(server.url, { waitUntil: "commit" });
  await waitFor("the focus", () => page.evaluate(() => document.activeElement?.id === "name"));
  await page.keyboard.type("Grace");
  await page.keyboard.press("Enter");
  expect(new URL(page.url()).pathname).toBe("/");
  release();
  const ownName = (): Promise<string | undefined> =>
    page.evaluate(() => {
      const { world } = (window as Partial<Window>).nowcast ?? {};
      return world?.players.get(world.playerId!)?.name;
    });
  await waitFor("the player", async () => (await ownName()) === "Grace", 120_000);
  await context.close();
});

it("the_start_picture_stays_until_the_world_is_drawn", async () => {
  const visitor = await Visitor.knock(browser, server, { name: "Ada", room: "", path: "/", atStart: true });
  const { page } = visitor;
  await page.locator("#start.ready").waitFor();
  await page.evaluate(() => {
    const seen = { kept: 0, bare: 0 };
    Object.assign(window, { seen });
    const look = (): void => {
      const { viewer } = window.nowcast;
      const isOpaque = !document.querySelector("#veil:is([hidden], .fading)");
      if (viewer.view && isOpaque) seen.kept++;
      else if (viewer.view && !viewer.controls.avatar.isShown) seen.bare++;
      requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  await page.locator('[data-world="football"]').click();
  await visitor.isIn();
  const seen = await page.evaluate(
    () => (window as unknown as { seen: { kept: number; bare: number } }).seen,
  );
  expect(seen.kept).toBeGreaterThan(0);
  expect(seen.bare).toBe(0);
  await visitor.leave();
});

it("the_list_of_worlds_is_requested_early_only_for_the_start_page", async () => {
  for (const atStart of [true, false]) {
    const options = { name: "Ada", room: "football-early", atStart };
    const visitor = await Visitor.knock(browser, server, options);
    expect(await visitor.page.locator("link[rel=preload]").count()).toBe(atStart ? 1 : 0);
    await visitor.leave();
  }
});

it("each_stop_of_the_tab_key_shows_its_focus", async () => {
  const visitor = await Visitor.knock(browser, server, {
    name: "Ada",
    room: "football-focus",
    atStart: true,
  });
  const { page } = visitor;
  /** The stops, with those whose focus is invisible marked by "!". */
  const stops = async (): Promise<string[]> => {
    const seen: string[] = [];
    for (let isAround = false; ; ) {
      await page.keyboard.press("Tab");
      const stop = await page.evaluate(() => {
        const focused = document.activeElement;
        if (!focused || focused === document.body) return "";
        const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(focused);
        const isVisible = outlineStyle !== "none" && outlineWidth !== "0px" && !/, 0\)$/.test(outlineColor);
        const name = `${focused.localName}#${focused.id} ${focused.textContent?.trim().slice(0, 20)}`;
        return isVisible ? name : `!${name}`;
      });
      if (isAround && (stop === "" || seen.includes(stop))) return seen;
      // The page has the focus between its last and its first stop.
      if (stop === "") isAround = true;
      else seen.push(stop);
    }
  };
  await page.locator("#start.ready").waitFor();
  const atStart = await stops();
  expect(atStart.length).toBeGreaterThan(5);
  expect(atStart.filter((stop) => stop.startsWith("!"))).toEqual([]);
  await page.locator("#enter").click();
  await visitor.isIn();
  const inWorld = await stops();
  expect(inWorld.some((stop) => stop.startsWith("canvas#world"))).toBe(true);
  expect(inWorld.length).toBeGreaterThan(5);
  expect(inWorld.filter((stop) => stop.startsWith("!"))).toEqual([]);
  await visitor.leave();
});

it("the_pill_of_a_phone_has_the_whole_name_of_the_room_and_the_number_of_people", async () => {
  const options = { room: "capture-the-flag", viewport: { width: 390, height: 844 }, hasTouch: true };
  const ada = await Visitor.enter(browser, server, { name: "Ada", ...options });
  const { page } = ada;
  await page.evaluate(() => window.nowcast.viewer.hud.intro.hide());
  // A player who is alone can invite somebody, and reads that the link was copied, or the link itself.
  await page.locator("#invite").tap();
  await waitFor("the link", async () =>
    /clipboard|\/r\/capture-the-flag/.test((await page.locator("#notice").textContent()) ?? ""),
  );
  const ben = await Visitor.enter(browser, server, { name: "Ben", ...options });
  await waitFor("no invitation", () => page.locator("#invite").isHidden());
  await waitFor("both", async () => (await page.locator("#place-people").textContent()) === "2 people");
  const cut = await page
    .locator("#place > *")
    .evaluateAll((parts) =>
      parts.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).map(({ id }) => id),
    );
  expect(cut).toEqual([]);
  await ben.leave();
  await ada.leave();
});

it("goal_and_first_steps_are_shown_on_entry_and_by_a_question_mark", async () => {
  // In a small window, the card takes the place of the keys.
  const viewport = { width: 1280, height: 720 };
  const visitor = await Visitor.enter(browser, server, { name: "Ada", room: "football", viewport });
  const { page } = visitor;
  const card = page.locator("#intro");
  await waitFor("the card", () => card.isVisible());
  expect(await page.locator("#intro-goal").textContent()).toContain("Score more goals");
  expect(await page.locator("#intro-how li").count()).toBe(3);
  await page.keyboard.press("KeyW");
  expect(await card.isVisible(), "the first key closes the card").toBe(false);
  await page.keyboard.press("?");
  expect([await card.isVisible(), await page.locator("#hints").isVisible()]).toEqual([true, true]);
  await page.keyboard.press("?");
  expect([await card.isVisible(), await page.locator("#hints").isVisible()]).toEqual([false, false]);
  await page.locator("#help-toggle").click();
  expect(await card.isVisible()).toBe(true);
  await page.locator("#intro-close").click();
  expect(await card.isVisible()).toBe(false);
  await visitor.leave();
});

it("a_connected_gamepad_is_named_before_its_first_press_and_its_bar_is_one_line", async () => {
  const visitor = await Visitor.enter(browser, server, {
    ...{ name: "Ada", room: "builders-pad", viewport: { width: 844, height: 390 }, before: plugInPad },
  });
  const { page } = visitor;
  await waitFor("the steps", async () => /block to remove/.test(await page.locator("#intro").innerText()));
  expect(await page.locator("#intro-how").innerText()).toMatch(/Press (X|Y|LB|RB) at a block to remove it/);
  await page.locator("#intro-close").click();
  const tops = await page
    .locator("#hints span")
    .evaluateAll((hints) => hints.map((hint) => hint.getBoundingClientRect().top));
  expect(tops.length).toBeGreaterThan(2);
  expect(new Set(tops).size).toBe(1);
  expect(await page.locator("#hints").innerText()).toMatch(/↑\s*→\s*↓\s*←\s*RT\s*LT\s*Slot/);
  expect(visitor.errors).toEqual([]);
  await visitor.leave();
});

it("bar_of_a_world_with_many_keys_is_one_line_with_each_key_once_and_a_question_mark_shows_the_rest", async () => {
  const viewport = { width: 1280, height: 720 };
  const visitor = await Visitor.enter(browser, server, { name: "Ada", room: "gallery", viewport });
  const { page } = visitor;
  const keys = (): Promise<string[]> => page.locator("#hints kbd").allTextContents();
  await waitFor("the short bar", async () => (await keys()).includes("?"));
  await page.keyboard.press("Escape");
  expect((await keys()).filter((key) => key === "E")).toHaveLength(1);
  const tops = await page
    .locator("#hints span")
    .evaluateAll((hints) => hints.map((hint) => hint.getBoundingClientRect().top));
  expect(new Set(tops).size).toBe(1);
  await page.keyboard.press("?");
  await waitFor("all keys", async () => (await keys()).filter((key) => key === "E").length > 1);
  expect(await keys()).not.toContain("?");
  await page.keyboard.press("KeyW");
  await waitFor("the short bar again", async () => (await keys()).includes("?"));
  expect(visitor.errors).toEqual([]);
  await visitor.leave();
});

it("the_bar_of_a_ship_names_the_keys_that_move_it_and_no_walk", async () => {
  const viewport = { width: 1280, height: 720 };
  const flown = await ServerProcess.start(0, [fileURLToPath(new URL("worlds/asteroids", ROOT))]);
  const visitor = await Visitor.enter(browser, flown, { name: "Ada", room: "asteroids", viewport });
  const { page } = visitor;
  await page.keyboard.press("KeyW");
  const bar = page.locator("#hints");
  await waitFor("the keys", async () => /Shift\s*faster\s*Space\s*up/.test(await bar.innerText()));
  expect(await bar.innerText()).not.toMatch(/walk|jump/);
  await visitor.leave();
  await flown.stop();
});

it("camera_begins_in_the_direction_in_which_the_world_places_the_avatar", async () => {
  const visitor = await Visitor.enter(browser, server, { name: "Ada", room: "capture-the-flag" });
  const { page } = visitor;
  const yaw = (): Promise<number> => page.evaluate(() => window.nowcast.viewer.controls.camera.yaw);
  // The first player is red, and red looks along +X.
  await waitFor("the direction", async () => Math.abs((await yaw()) + Math.PI / 2) < 0.01);
  const stepOf = (): Promise<number> => page.evaluate(() => window.nowcast.world!.avatar!.position[0]);
  const before = await stepOf();
  await page.keyboard.down("KeyW");
  await waitFor("a step along +X", async () => (await stepOf()) > before + 0.5);
  await page.keyboard.up("KeyW");
  await visitor.leave();
});

it("list_of_people_finds_and_blocks_a_player", async () => {
  const ada = await Visitor.enter(browser, server, { name: "Ada", room: "playground-people" });
  const ben = await Visitor.enter(browser, server, { name: "Ben", room: "playground-people" });
  const { page } = ada;
  await page.locator("#place").click();
  // The click has left the focus on the picture.
  await page.keyboard.press("Escape");
  await waitFor("no list", () => page.locator("#people").isHidden());
  await page.locator("#place").click();
  const lines = page.locator("#people-list li");
  await waitFor("both players", async () => (await lines.count()) === 2);
  expect(await lines.allTextContents()).toEqual(expect.arrayContaining(["Ada (you)"]));
  const other = lines.filter({ hasText: "Ben" });
  await other.getByRole("button", { name: "Find" }).click();
  await waitFor("the distance", async () =>
    /Ben is \d+ m away/.test((await page.locator("#notice").textContent()) ?? ""),
  );
  const say = (text: string): Promise<void> =>
    ben.page.evaluate((line) => window.nowcast.world!.chat(line), text);
  const log = page.locator("#chat-log");
  await say("first line");
  await waitFor("the line", async () => (await log.textContent())?.includes("first line"));
  await other.getByRole("button", { name: "Block" }).click();
  await say("second line");
  await waitFor("the line of a blocked player on its own page", async () =>
    (await ben.page.locator("#chat-log").textContent())?.includes("second line"),
  );
  await other.getByRole("button", { name: "Block" }).click();
  await say("third line");
  await waitFor("the line", async () => (await log.textContent())?.includes("third line"));
  expect(await log.textContent()).not.toContain("second line");
  await page.keyboard.press("Escape");
  expect([...ada.errors, ...ben.errors]).toEqual([]);
  await ada.leave();
  await ben.leave();
});

it("banner_and_flash_of_a_world_are_shown_and_end", async () => {
  const visitor = await Visitor.enter(browser, server, { name: "Ada", room: "football-banner" });
  const { page } = visitor;
  await page.keyboard.press("KeyW");
  await page.evaluate(() => {
    const { highlights } = window.nowcast.viewer.hud;
    highlights.handleEvent("banner", { text: "red wins" });
    highlights.handleEvent("flash", { color: "#3050ff" });
  });
  expect(await page.locator("#world-banner").isVisible()).toBe(true);
  expect(await page.locator("#flash").evaluate((flash) => flash.getAnimations().length)).toBe(1);
  await waitFor("the end of the banner", async () => !(await page.locator("#world-banner").isVisible()));
  await waitFor("the end of the flash", () =>
    page.locator("#flash").evaluate((flash) => flash.getAnimations().length === 0),
  );
  await visitor.leave();
});

it("a_private_room_is_entered_by_its_link_and_is_in_no_list", async () => {
  const host = await Visitor.knock(browser, server, { name: "Ada", room: "football-2", atStart: true });
  const { page } = host;
  await page.locator("#start.ready").waitFor();
  await page.locator("#room-private").click();
  const link = (await page.locator("#share-link").getAttribute("href")) ?? "";
  expect(link).toMatch(/\/r\/football--[a-z2-9]{12}$/);
  await page.locator("#enter").click();
  await host.isIn();
  const room = link.split("/").at(-1) ?? "";
  const read = async (list: string): Promise<string> => (await fetch(`${server.url}/api/${list}`)).text();
  expect(await read("rooms")).not.toContain(room);
  expect(await read("worlds")).not.toContain(room);
  const guest = await Visitor.enter(browser, server, { name: "Ben", room });
  await waitFor("both players", () => page.evaluate(() => window.nowcast.world?.players.size === 2));
  await host.leave();
  await guest.leave();
});

it("a_function_moves_to_another_key_and_the_hints_name_the_key", async () => {
  const visitor = await Visitor.enter(browser, server, { name: "Ada", room: "football-keys" });
  const { page } = visitor;
  await page.locator("#settings-open").click();
  await page.locator('[data-code="KeyW"]').click();
  await page.keyboard.press("KeyI");
  await waitFor("the new key", async () => (await page.locator('[data-code="KeyW"]').textContent()) === "I");
  await page.keyboard.press("Escape");
  expect(await page.locator("#hints kbd").first().textContent()).toBe("I");
  await page.evaluate(() => document.getElementById("world")!.focus());
  const forward = (): Promise<number> =>
    page.evaluate(() => window.nowcast.viewer.controls.inputs.combine().forward);
  await page.keyboard.down("KeyW");
  expect(await forward()).toBe(0);
  await page.keyboard.up("KeyW");
  await page.keyboard.down("KeyI");
  expect(await forward()).toBe(1);
  await page.keyboard.up("KeyI");
  expect(visitor.errors).toEqual([]);
  await visitor.leave();
});

it("a_builder_builds_where_the_pointer_or_a_finger_is_and_a_refusal_is_explained", async () => {
  const blocksAside = (page: Page): Promise<number> =>
    page.evaluate(() => {
      const { world } = window.nowcast;
      const at = world!.avatar!.position;
      const blocks = [...world!.entities.values()].filter(({ kind }) => kind.name === "block");
      return blocks.filter(
        ({ position: [x, , z] }) => x > at[0] + 0.9 && Math.hypot(x - at[0], z - at[2]) < 6,
      ).length;
    });
  for (const hasTouch of [false, true]) {
    const room = `builders-aim-${hasTouch ? "touch" : "mouse"}`;
    const viewport = { width: 1000, height: 640 };
    const visitor = await Visitor.enter(browser, server, { name: "Ada", room, hasTouch, viewport });
    const { page } = visitor;
    const point = async (x: number, y: number): Promise<void> => {
      if (hasTouch) return page.touchscreen.tap(x, y);
      await page.mouse.move(x, y);
      await page.evaluate(() => new Promise(requestAnimationFrame));
      await page.mouse.click(x, y);
    };
    await visitor.avatarId();
    await page.evaluate(() => window.nowcast.viewer.hud.intro.hide());
    // The first slot fills pale blocks only.
    const color = page.locator("#slots button").nth(1);
    await (hasTouch ? color.tap() : color.click());
    const before = await blocksAside(page);
    await waitFor("a block at the right of the avatar", async () => {
      if ((await blocksAside(page)) > before) return true;
      await point(640, 420);
      return false;
    });
    await page.evaluate(() => window.nowcast.viewer.controls.camera.turn(0, -1));
    await waitFor("the reason", async () => {
      const notice = await page.locator("#world-notice").textContent();
      if (notice?.includes("Point at a place")) return true;
      await point(520, 110);
      return false;
    });
    expect(await page.locator("#slots button").count()).toBe(6);
    await visitor.leave();
  }
});
