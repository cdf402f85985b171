import { isFields, readColor } from "nowcast/internal";
import { cssColor } from "../dom.js";
import { pageTexts } from "../texts.js";
import { textOf } from "./screen-text.js";

/** Number keys choose slots, so there are no more. */
const SLOTS_MAX = 9;

/**
 * A player's slots in a row, such as those of `@nowcast/inventory`: the place `slots` of screens. Each slot has its colour or
 * its label, its number, and its count.
 */
export class HotBar {
  readonly #bar: HTMLElement;
  #text = "";

  /** `choose` is called with the number key of a pressed slot. */
  constructor(bar: HTMLElement, choose: (key: string) => void) {
    this.#bar = bar;
    bar.addEventListener("click", ({ target }) => {
      const key = target instanceof Element ? target.closest("button")?.dataset["key"] : undefined;
      if (key !== undefined) choose(key);
    });
  }

  update(value: unknown): void {
    const { slots = [], selected } = isFields(value) ? value : {};
    const text = JSON.stringify([slots, selected]);
    if (text === this.#text) return;
    this.#text = text;
    const list: readonly unknown[] = Array.isArray(slots) ? slots.slice(0, SLOTS_MAX) : [];
    this.#bar.replaceChildren(...list.map((slot, i) => createSlot(slot, String(i + 1), selected === i + 1)));
    this.#bar.hidden = list.length === 0;
  }
}

function createSlot(value: unknown, key: string, isSelected: boolean): HTMLButtonElement {
  const fields = isFields(value) ? value : {};
  const [label, count] = [textOf(fields["label"]), Number(fields["count"] ?? 0)];
  const color = readColor(fields["color"]);
  const slot = document.createElement("button");
  slot.type = "button";
  slot.dataset["key"] = key;
  slot.title = label;
  slot.setAttribute("aria-label", pageTexts.slot(key, label, count));
  slot.setAttribute("aria-pressed", String(isSelected));
  const add = (tag: string, text: string): HTMLElement => {
    const part = document.createElement(tag);
    part.textContent = text;
    slot.append(part);
    return part;
  };
  add("kbd", key);
  const picture = add("i", color === undefined ? label.slice(0, 6) : "");
  if (color !== undefined) picture.style.background = cssColor(color);
  if (count > 1) add("b", String(count));
  return slot;
}
