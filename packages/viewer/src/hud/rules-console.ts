import { element } from "../dom.js";
import type { Report } from "../net.js";
import { words } from "../words.js";

const REPORTS_MAX = 50;

/** Where in a world's files something is wrong. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly cause: string;
}

/** Reads `world.luau:12: what is wrong`; undefined where a text begins otherwise. */
export function readPlace(text: string): Place | undefined {
  const found = /^\s*([^\s:]+\.luau):(\d+)(?::\d+)?:?\s*(.*)$/s.exec(text);
  if (!found) return undefined;
  return { file: found[1]!, line: Number(found[2]), cause: found[3]! };
}

/** What became of each version of the world's rules, newest first: for those who may edit, as nobody else is told. */
export class RulesConsole {
  private readonly panel = element("console", HTMLElement);
  private readonly toggle = element("console-toggle", HTMLButtonElement);
  private readonly running = element("console-version", HTMLElement);
  private readonly list = element("console-list", HTMLOListElement);

  constructor() {
    this.toggle.addEventListener("click", () => this.flip());
    this.clear();
  }

  flip(): void {
    if (this.toggle.hidden) return;
    this.setOpen(this.panel.hidden);
  }

  /** Forgets everything, as in another world; there is nothing to open before the first report. */
  clear(): void {
    this.list.replaceChildren();
    this.running.textContent = words.nothingReported;
    this.toggle.hidden = true;
    this.setOpen(false);
  }

  /**
   * What is wrong opens the console by itself: whoever has just saved waits for it. `isNews` is false for what a server tells of
   * the time before one came; of that the last report decides.
   */
  add({ outcome, version, text }: Report, isNews: boolean): void {
    this.toggle.hidden = false;
    if (outcome === "runs") this.running.textContent = words.runs(version);
    const line = document.createElement("li");
    line.className = outcome;
    const head = document.createElement("b");
    head.textContent = words.outcome[outcome];
    const which = document.createElement("small");
    which.textContent = words.version(version);
    line.append(head, which);
    if (text !== "") line.append(describe(text));
    this.list.prepend(line);
    while (this.list.childElementCount > REPORTS_MAX) this.list.lastElementChild?.remove();
    if (outcome !== "runs" || !isNews) this.setOpen(outcome !== "runs");
  }

  private setOpen(isOpen: boolean): void {
    this.panel.hidden = !isOpen;
    this.toggle.setAttribute("aria-pressed", String(isOpen));
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
