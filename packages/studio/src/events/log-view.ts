import type { LogLine } from "../api/types.js";
import { button, make } from "../dom.js";
import { shortText } from "../value.js";

export const LOG_TYPES = ["print", "error", "rules", "chat", "event"] as const;
export type LogType = LogLine["type"];

/** Lines that are drawn. */
const DRAWN_MAX = 400;

const EMPTY = "Nothing was logged yet. Lines of print, errors, chat and events of the room appear here.";

export interface LogFilter {
  readonly types: ReadonlySet<LogType>;
  readonly text: string;
}

/** The text of a line, with the name and the data of events. */
export function lineText({ text, name, data, file, line }: LogLine): string {
  const parts: string[] = [];
  if (file !== undefined) parts.push(line === undefined ? file : `${file}:${line}`);
  if (name !== undefined) parts.push(name);
  if (text !== undefined && text !== name) parts.push(text);
  if (data !== undefined && data !== null) parts.push(shortText(data, 300));
  return parts.join(" ");
}

export function matches(line: LogLine, { types, text }: LogFilter): boolean {
  return types.has(line.type) && lineText(line).toLowerCase().includes(text.toLowerCase());
}

/** A list of lines that follows the newest line, unless the user scrolled back. */
export class LogView {
  readonly element = make("div", { class: "log", role: "log", "aria-label": "Log", tabindex: "0" });
  filter: LogFilter = { types: new Set(LOG_TYPES), text: "" };
  readonly #openCode: (file: string, line: number) => void;
  #lines: readonly LogLine[] = [];

  constructor(openCode: (file: string, line: number) => void) {
    this.#openCode = openCode;
  }

  set lines(lines: readonly LogLine[]) {
    this.#lines = lines;
    this.show();
  }

  /** Draws the newest lines that pass the filter. */
  show(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.element;
    const isAtEnd = scrollTop + clientHeight >= scrollHeight - 20;
    const shown = this.#lines.filter((line) => matches(line, this.filter)).slice(-DRAWN_MAX);
    const empty = this.#lines.length === 0 ? EMPTY : "No line passes the filter.";
    if (shown.length === 0) this.element.replaceChildren(make("div", { class: "empty" }, empty));
    else this.element.replaceChildren(...shown.map((line) => this.#line(line)));
    if (isAtEnd) this.element.scrollTop = this.element.scrollHeight;
    else this.element.scrollTop = scrollTop;
  }

  #line(line: LogLine): HTMLElement {
    const { type, tick, file, line: number } = line;
    const text = make("span");
    if (file !== undefined && number !== undefined) {
      text.append(button(`${file}:${number}`, () => this.#openCode(file, number), { class: "link" }));
      const { file: _file, line: _line, ...rest } = line;
      text.append(` ${lineText(rest)}`);
    } else text.append(lineText(line));
    return make(
      "p",
      { class: type },
      make("span", { class: "step" }, String(tick)),
      make("span", { class: "type" }, type),
      text,
    );
  }
}
