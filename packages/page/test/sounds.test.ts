/**
 * Sounds that the browser interrupts.
 *
 * @vitest-environment jsdom
 */

import { afterEach, expect, it, vi } from "vitest";
import { Assets } from "../../three/src/assets.js";
import { Sounds } from "../src/sounds.js";

/** The states of an audio context, as browsers change them. */
class Context {
  static made: Context[] = [];
  state = "running";
  refuses = 0;

  constructor() {
    Context.made.push(this);
  }

  async resume(): Promise<void> {
    if (this.refuses-- > 0) throw new DOMException("the page may not start audio now", "NotAllowedError");
    this.state = "running";
  }

  async suspend(): Promise<void> {
    this.state = "suspended";
  }
}

const sounds: Sounds[] = [];
afterEach(() => {
  for (const made of sounds.splice(0)) made.dispose();
  Context.made = [];
});

function begin(): { readonly made: Sounds; readonly context: Context } {
  vi.stubGlobal("AudioContext", Context);
  const made = new Sounds(new Assets());
  sounds.push(made);
  made.setOn(true);
  return { made, context: Context.made[0]! };
}

it.each(["pointerup", "keydown"])("come back with the next %s after an interruption", async (type) => {
  const { made, context } = begin();
  expect(made.isAudible).toBe(true);
  context.state = "suspended";
  context.refuses = 1;
  made.play({ file: "whistle", at: undefined, volume: 1 });
  await Promise.resolve();
  expect(made.isAudible).toBe(false);
  window.dispatchEvent(new Event(type));
  await Promise.resolve();
  expect(made.isAudible).toBe(true);
});

it("come back when the page is shown again, unless they are off", async () => {
  const { made, context } = begin();
  context.state = "interrupted";
  document.dispatchEvent(new Event("visibilitychange"));
  await Promise.resolve();
  expect(made.isAudible).toBe(true);
  made.setOn(false);
  window.dispatchEvent(new Event("pointerup"));
  await Promise.resolve();
  expect(context.state).toBe("suspended");
});
