import type { WorldEvents } from "nowcast/world";
import { element } from "../dom.js";
import { words } from "../words.js";

/** The outcome of a version of the world's rules. */
type Report = WorldEvents["report"];

const REPORTS_MAX = 50;

/** A place in a world's files, and the fault at this place. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly cause: string;
}

/** Parses `world.luau:12: problem`; `undefined` if a text begins differently. */
export function readPlace(text: string): Place | undefined {
  const found = /^\s*([^\s:]+\.luau):(\d+)(?::\d+)?:?\s*(.*)$/s.exec(text);
  if (!found) return undefined;
  return { file: found[1]!, line: Number(found[2]), cause: found[3]! };
}

/** The running version of a world's rules, computed from the reports on all versions. */
export class RunningVersion {
  /** Versions that ran, the newest last. A version that is rolled back is removed. */
  readonly #ran: number[] = [];

  get current(): number | undefined {
    return this.#ran.at(-1);
  }

  take({ outcome, version }: Pick<Report, "outcome" | "version">): void {
    const known = this.#ran.indexOf(version);
    if (outcome === "runs" && known < 0) this.#ran.push(version);
    else if (outcome === "rolled_back" && known >= 0) this.#ran.splice(known, 1);
    if (this.#ran.length > REPORTS_MAX) this.#ran.shift();
  }

  clear(): void {
    this.#ran.length = 0;
  }
}

/**
 * Shows the reports on each version of the world's rules, newest first. The server sends them only to
 * editors.
 */
export class RulesConsole {
  readonly #panel = element("console", HTMLElement);
  readonly #toggle = element("console-toggle", HTMLButtonElement);
  readonly #running = element("console-version", HTMLElement);
  readonly #list = element("console-list", HTMLOListElement);
  readonly #version = new RunningVersion();

  readonly #onFault: () => void;

  /** `onFault` is called for a fault of rules that were saved just now. */
  constructor(onFault: () => void) {
    this.#onFault = onFault;
    this.#toggle.addEventListener("click", () => this.flip());
    this.clear();
  }

  flip(): void {
    if (this.#toggle.hidden) return;
    this.#setOpen(this.#panel.hidden);
  }

  /**
   * Removes all reports, for example because another world is entered. Before the first report, the console
   * cannot be opened.
   */
  clear(): void {
    this.#list.replaceChildren();
    this.#version.clear();
    this.#running.textContent = words.nothingReported;
    this.#toggle.hidden = true;
    this.#toggle.classList.remove("fault");
    this.#setOpen(false);
  }

  /**
   * Adds a report. A fault marks the button of the console, which opens only when the user asks. `isNews` is false for
   * reports that are older than the join of this page.
   */
  add({ outcome, version, text }: Report, isNews: boolean): void {
    this.#toggle.hidden = false;
    this.#version.take({ outcome, version });
    const { current } = this.#version;
    this.#running.textContent = current === undefined ? words.earlierRuns : words.runs(current);
    const line = document.createElement("li");
    line.className = outcome;
    const head = document.createElement("b");
    head.textContent = words.outcome[outcome];
    const which = document.createElement("small");
    if (outcome !== "printed") which.textContent = words.version(version);
    line.append(head, which);
    if (text !== "") line.append(describe(text));
    this.#list.prepend(line);
    while (this.#list.childElementCount > REPORTS_MAX) this.#list.lastElementChild?.remove();
    // Printed lines say nothing about the rules.
    if (outcome === "printed") return;
    this.#toggle.classList.toggle("fault", outcome !== "runs");
    if (outcome !== "runs" && isNews && this.#panel.hidden) this.#onFault();
  }

  #setOpen(isOpen: boolean): void {
    this.#panel.hidden = !isOpen;
    this.#toggle.setAttribute("aria-pressed", String(isOpen));
  }
}

function describe(text: string): HTMLElement {
  const cause = document.createElement("p");
  const place = readPlace(text);
  if (!place) {
    cause.textContent = text;
    return cause;
  }
  const where = document.createElement("code");
  where.textContent = `${place.file}:${place.line}`;
  cause.append(where, ` ${place.cause}`);
  return cause;
}
