/**
 * The texts over a world's picture.
 *
 * @vitest-environment jsdom
 */
import type { World } from "nowcast/world";
import { beforeAll, expect, it, vi } from "vitest";
import { type Binding, readBindings } from "../../nowcast/src/world/describe/binding.js";
import { KEYBOARD } from "../src/hud/key-hints.js";
import { WorldHud } from "../src/hud/world-hud.js";

beforeAll(() => {
  Object.assign(CSSStyleSheet.prototype, { replaceSync: () => undefined });
});

class FakeWorld {
  readonly players = new Map();
  readonly screen = new Map<string, unknown>();
  readonly serverUrl = "http://localhost";
  readonly status = "open";
  readonly connection = { isStable: true };
  readonly definition = undefined;
  readonly avatarId = undefined;
  readonly #listeners: [string, (event: object) => void][] = [];

  on(type: string, listener: (event: object) => void): void {
    this.#listeners.push([type, listener]);
  }

  say(message: string): void {
    this.show({ message });
  }

  show(values: Readonly<Record<string, unknown>>): void {
    for (const [place, value] of Object.entries(values)) this.screen.set(place, value);
    for (const place of Object.keys(values)) this.#tell("screen", { place });
  }

  refuse(action: string, reason: string): void {
    this.#tell("refused", { action, reason });
  }

  #tell(event: string, payload: object): void {
    for (const [type, listener] of this.#listeners) if (type === event) listener(payload);
  }

  get asWorld(): World {
    return this as never;
  }
}

const create = (world = new FakeWorld()): WorldHud => new WorldHud(document.body, world.asWorld);
const [wave] = readBindings([{ name: "wave", arguments: [], hint: { key: "f", label: "Wave" } }]) as [
  Binding,
];

it("names_the_keyboard_on_a_page_without_controls", () => {
  expect(create().element.dataset["device"]).toBe("keyboard");
});

it("shows_the_new_world_although_the_old_one_changed_in_the_same_task", async () => {
  const [old, next] = [new FakeWorld(), new FakeWorld()];
  const hud = create(old);
  await Promise.resolve();
  old.say("old");
  hud.follow(next.asWorld, new AbortController().signal);
  next.say("new");
  await Promise.resolve();
  const texts = [...hud.element.shadowRoot!.querySelectorAll(".message")].map((line) => line.textContent);
  expect(texts).toContain("new");
  expect(texts).not.toContain("old");
});

it("writes_prompts_only_if_they_change", () => {
  const hud = create();
  const controls = vi.fn(() => KEYBOARD);
  hud.listener = { controls } as never;
  const shown = (): string => hud.element.shadowRoot!.querySelector(".prompts")!.textContent;
  hud.setActions([wave]);
  hud.setPrompts([wave], []);
  expect(shown()).toBe("F: Wave");
  controls.mockClear();
  hud.setPrompts([wave], []);
  expect(controls).not.toHaveBeenCalled();
  hud.setPrompts([], [wave]);
  expect(shown()).toBe("");
  hud.setPrompts([wave], []);
  hud.listener = { controls: () => ({ ...KEYBOARD, device: "touch" }) } as never;
  hud.setDevice("touch");
  hud.setPrompts([wave], []);
  expect(shown()).toBe("");
});

it("has_no_button_for_help_on_a_touch_screen_in_a_world_without_a_description", () => {
  const hud = create();
  const help = hud.element.shadowRoot!.querySelector<HTMLElement>("[aria-label=Keys]")!;
  hud.setActions([]);
  expect(help.hidden).toBe(false);
  hud.listener = { controls: () => ({ ...KEYBOARD, device: "touch" }) } as never;
  hud.setDevice("touch");
  expect(help.hidden).toBe(true);
  hud.intro.define({ name: "yard", goal: "Play.", how: [] } as never);
  hud.nameControls();
  expect(help.hidden).toBe(false);
});

it("lists_all_keys_while_a_question_mark_shows_the_card", () => {
  const hud = create();
  hud.listener = { controls: () => ({ ...KEYBOARD, bindings: [wave] }) } as never;
  hud.intro.define({ name: "yard", goal: "Play.", how: ["Walk."] } as never);
  hud.setActions([wave]);
  const keys = (): string[] => {
    hud.setPrompts([], []);
    return [...hud.element.shadowRoot!.querySelectorAll(".help kbd")].map((cap) => cap.textContent);
  };
  expect(keys()).toEqual(["W", "A", "S", "D", "Shift", "Space", "?"]);
  hud.run("help");
  expect(keys()).toEqual(["W", "A", "S", "D", "Shift", "Space", "F", "T", "Enter"]);
  hud.run("help");
  expect(keys().at(-1)).toBe("?");
});

it("shows_three_steps_at_first_and_all_after_a_question_mark", () => {
  const hud = create();
  hud.intro.define({ name: "yard", goal: "Play.", how: ["1", "2", "3", "4"] } as never);
  const steps = (): number => hud.element.shadowRoot!.querySelectorAll(".intro li").length;
  hud.intro.show();
  expect(steps()).toBe(3);
  hud.listener = { controls: () => ({ ...KEYBOARD, device: "touch" }) } as never;
  hud.nameControls();
  // One of the three lines names the controls of a touch screen.
  expect(steps()).toBe(2);
  hud.intro.hide();
  hud.run("help");
  expect(steps()).toBe(4);
});

it("names_the_gamepads_button_in_the_cards_button_while_a_gamepad_is_in_use", () => {
  const hud = create();
  hud.intro.define({ name: "yard", goal: "Play.", how: [] } as never);
  hud.intro.show();
  const text = (): string => hud.element.shadowRoot!.querySelector(".intro button")!.textContent;
  expect(text()).toBe("Begin");
  hud.listener = { controls: () => ({ ...KEYBOARD, device: "gamepad" }) } as never;
  hud.setDevice("gamepad");
  expect(text()).toBe("A Begin");
  hud.listener = { controls: () => KEYBOARD } as never;
  hud.setDevice("keyboard");
  expect(text()).toBe("Begin");
});

it("marks_a_number_of_the_score_or_the_list_that_has_changed", async () => {
  const world = new FakeWorld();
  const hud = create(world);
  const marked = async (score: unknown, room: string, crystals: string): Promise<string[]> => {
    world.show({ score, room, crystals });
    await Promise.resolve();
    return [...hud.element.shadowRoot!.querySelectorAll(".pop")].map((number) => number.textContent);
  };
  expect(await marked({ red: 1, blue: 0 }, "hall", "0 of 12")).toEqual([]);
  expect(await marked({ red: 2, blue: 0 }, "yard", "0 of 12")).toEqual(["2"]);
  expect(await marked({ red: 2, blue: 0 }, "yard", "1 of 12")).toContain("1 of 12");
});

it("shows_refusals_and_the_worlds_notices_above_the_keys_and_the_aim_below_the_score", async () => {
  const world = new FakeWorld();
  const hud = create(world);
  world.show({ prompt: "Take the flag", notice: "Too far away" });
  await Promise.resolve();
  const texts = (place: string): string[] =>
    [...hud.element.shadowRoot!.querySelectorAll<HTMLElement>(`${place} > p`)]
      .filter((line) => !line.hidden && line.textContent !== "")
      .map((line) => line.textContent);
  expect(texts(".said")).toEqual(["Take the flag"]);
  expect(texts(".low")).toEqual(["Too far away"]);
  world.refuse("take", "it is gone");
  expect(texts(".low")[0]).toContain("it is gone");
  expect(texts(".said")).toEqual(["Take the flag"]);
});

it("leaves_no_timer_after_its_end", () => {
  vi.useFakeTimers();
  const hud = create();
  hud.say("Hello");
  hud.refuse("No");
  expect(vi.getTimerCount()).toBe(2);
  hud.dispose();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});
