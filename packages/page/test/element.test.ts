/**
 * The element `<nowcast-world>`: which world it shows. The page itself needs a graphics card, and is not part of this test.
 *
 * @vitest-environment jsdom
 */
import { afterEach, expect, it, vi } from "vitest";
import { Emitter } from "../../nowcast/src/events/emitter.js";
import type { WorldPageOptions } from "../src/world-page.js";

class Page {
  static readonly made: Page[] = [];
  isDisposed = false;
  readonly events = new Emitter<Record<string, { payload: unknown }>>();
  readonly acts: unknown[] = [];
  readonly world = {
    serverUrl: "https://example.org",
    ready: Promise.resolve(),
    on: (type: string, listener: (event: { payload: unknown }) => void) => this.events.on(type, listener),
    act: async (...given: unknown[]) => void this.acts.push(given),
    rename: (): void => undefined,
  };

  constructor(
    readonly container: HTMLElement,
    readonly url: URL,
    readonly options: WorldPageOptions,
  ) {
    Page.made.push(this);
  }

  dispose(): void {
    this.isDisposed = true;
  }
}

vi.mock(import("../src/world-page.js"), () => ({ WorldPage: Page }) as never);
afterEach(() => document.body.replaceChildren());

it("goes through a portal of the world, with its ticket", async () => {
  await import("../src/element.js");
  document.body.innerHTML = '<nowcast-world src="https://example.org/r/plaza" name="Ada"></nowcast-world>';
  const first = Page.made.at(-1)!;
  const count = Page.made.length;
  first.events.emit("event:@go", { payload: { room: "no such room!", ticket: "t" } });
  first.events.emit("event:@go", { payload: { room: "cave", ticket: "t" } });
  await vi.waitUntil(() => Page.made.length > count);
  const second = Page.made[count]!;
  await vi.waitUntil(() => second.acts.length > 0);
  expect([first.isDisposed, second.url.href]).toEqual([true, "https://example.org/r/cave"]);
  expect([second.options.name, second.acts]).toEqual(["Ada", [["@arrive", { ticket: "t" }]]]);
  document.querySelector("nowcast-world")!.setAttribute("src", "https://example.org/r/barn");
  const third = Page.made[count + 1]!;
  await Promise.resolve();
  expect([third.url.pathname, third.acts, Page.made.length]).toEqual(["/r/barn", [], count + 2]);
});
