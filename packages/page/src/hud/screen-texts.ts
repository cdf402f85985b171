import { readColor } from "nowcast/internal";
import { cssColor } from "../dom.js";
import { pageTexts } from "../texts.js";
import { isOwnPlace } from "../ui/panels.js";
import { HotBar } from "./hot-bar.js";
import { clockText, type ScoreSide, sidesOf, textOf, wordOf } from "./screen-text.js";

const LINES_MAX = 16;
/** A score's side with one of these names is drawn in that colour. */
const TEAM_COLORS: ReadonlySet<string> = new Set(["red", "blue", "green", "yellow", "orange", "purple"]);

/** The elements of {@link ScreenTexts}. Each is hidden while its text is empty. */
export interface ScreenElements {
  /** Contains `score` and `clock`. */
  readonly board: HTMLElement;
  readonly score: HTMLElement;
  readonly clock: HTMLElement;
  /** A large text, for moments such as a goal. */
  readonly message: HTMLElement;
  /** The present aim, below `board`. */
  readonly prompt: HTMLElement;
  /** A small text above the keys, for example why an action is not possible. */
  readonly notice: HTMLElement;
  /** A `<dl>` for the texts at all other places. */
  readonly list: HTMLElement;
  /** The row of a player's slots. */
  readonly slots: HTMLElement;
}

/**
 * The texts that the world shows on this screen. `score`, `clock`, `message`, `prompt`, `notice` and `slots` have their own
 * places; all other texts are in a list. An element is written only if its own text changes, because screen
 * readers speak a live region on every write.
 */
export class ScreenTexts {
  readonly #elements: ScreenElements;
  readonly #slots: HotBar;
  #isStale = false;
  #sides: readonly ScoreSide[] = [];
  #cells: ReadonlyMap<string, string> = new Map();

  /** `choose` is called with the number key of a pressed slot. */
  constructor(elements: ScreenElements, choose: (key: string) => void) {
    this.#elements = elements;
    this.#slots = new HotBar(elements.slots, choose);
  }

  /** Records that a text changed, so that the next update must show it. */
  invalidate(): void {
    this.#isStale = true;
  }

  update(screen: ReadonlyMap<string, unknown>): void {
    if (!this.#isStale) return;
    this.#isStale = false;
    const { board, score, clock, message, prompt, notice } = this.#elements;
    const sides = sidesOf(screen.get("score"));
    this.#writeScore(sides);
    write(clock, screen.has("clock") ? clockText(screen.get("clock")) : "");
    score.hidden = sides.length === 0;
    board.hidden = sides.length === 0 && clock.hidden;
    write(message, textOf(screen.get("message")));
    write(prompt, textOf(screen.get("prompt")));
    write(notice, textOf(screen.get("notice")));
    this.#slots.update(screen.get("slots"));
    this.#writeList(screen);
  }

  #writeScore(sides: readonly ScoreSide[]): void {
    const before = this.#sides;
    if (JSON.stringify(sides) === JSON.stringify(before)) return;
    this.#sides = sides;
    this.#elements.score.replaceChildren(
      ...sides.map(({ name, value }) => {
        const side = document.createElement("span");
        side.className = "side";
        if (TEAM_COLORS.has(name)) side.dataset["team"] = name;
        const number = document.createElement("b");
        number.textContent = value;
        popIfChanged(number, before.find((side) => side.name === name)?.value);
        side.append(`${name === "" ? pageTexts.score : name} `, number);
        return side;
      }),
    );
  }

  #writeList(screen: ReadonlyMap<string, unknown>): void {
    const rest = listed(screen);
    const cells = new Map<string, string>();
    const rows = rest.slice(0, LINES_MAX).flatMap(([place, value]) => {
      if (isTable(value)) {
        const title = line("dt", wordOf(place));
        title.className = "title";
        return [
          title,
          ...value.flatMap(([name, text]) => [line("dt", textOf(name)), line("dd", textOf(text))]),
        ];
      }
      const cell = line("dd", textOf(value));
      cell.dataset["place"] = place;
      const color = typeof value === "string" ? readColor(value) : undefined;
      if (color === undefined) popIfChanged(cell, this.#cells.get(place));
      else cell.replaceChildren(swatch(color));
      cells.set(place, cell.textContent);
      return [line("dt", wordOf(place)), cell];
    });
    if (rest.length > LINES_MAX) {
      const more = line("dt", pageTexts.moreLines(rest.length - LINES_MAX));
      more.className = "more";
      rows.push(more);
    }
    this.#cells = cells;
    const { list } = this.#elements;
    list.replaceChildren(...rows);
    list.hidden = rows.length === 0;
  }
}

const PLACES: ReadonlySet<string> = new Set(["score", "clock", "message", "prompt", "notice", "slots"]);

/** The places of the list and their values, in the order of the places. */
export function listed(screen: ReadonlyMap<string, unknown>): [place: string, value: unknown][] {
  const rest = [...screen].filter(([place]) => !PLACES.has(place) && !isOwnPlace(place));
  return rest.sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Whether a value is a table with a name and a value in each row, such as a leaderboard. */
function isTable(value: unknown): value is readonly (readonly [unknown, unknown])[] {
  return (
    Array.isArray(value) && value.length > 0 && value.every((row) => Array.isArray(row) && row.length === 2)
  );
}

function line(tag: "dt" | "dd", text: string): HTMLElement {
  const made = document.createElement(tag);
  made.textContent = text;
  return made;
}

/** Marks a text with a number that has changed, so that a style can move it. */
function popIfChanged(target: HTMLElement, before: string | undefined): void {
  const now = target.textContent;
  if (before !== undefined && before !== now && /\d/.test(now)) target.classList.add("pop");
}

/** If the name is a colour, the colour is shown instead of the name. */
function swatch(color: number): HTMLElement {
  const patch = document.createElement("span");
  patch.className = "swatch";
  patch.style.background = cssColor(color);
  patch.title = cssColor(color);
  return patch;
}

function write(target: HTMLElement, text: string): void {
  if (target.textContent !== text) target.textContent = text;
  target.hidden = text === "";
}
