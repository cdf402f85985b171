import { lineChart } from "../chart.js";
import type { Context, Tab } from "../context.js";
import { button, make, setText } from "../dom.js";
import { Poll } from "../poll.js";
import { LOG_TYPES, type LogType, LogView } from "./log-view.js";
import { plotsOf } from "./metrics.js";

const METRICS_INTERVAL_MS = 5_000;

/** The log of a room as it grows, and the metrics of the server over the last hour. */
export class EventsTab implements Tab {
  readonly panel = make("div", { class: "sheet" });
  readonly #context: Context;
  readonly #log: LogView;
  readonly #dropped = make("span", { class: "muted", role: "status" });
  readonly #plots = make("div", { class: "cards plots" });
  readonly #poll: Poll;
  /** The number of the last line before the user cleared the list. */
  #clearedUntil = 0;
  #room: string | undefined;

  constructor(context: Context) {
    this.#context = context;
    this.#log = new LogView((file, line) => context.openCode(file, line));
    const failed = (error: unknown) => void context.attempt(() => Promise.reject(error));
    this.#poll = new Poll(() => this.#readMetrics(), METRICS_INTERVAL_MS, failed);
    context.log.listen(() => this.#showLog());
    this.panel.append(
      make("section", {}, make("h2", {}, "Log"), this.#filters(), this.#log.element),
      make("section", {}, make("h2", {}, "Metrics of the last hour"), this.#plots),
    );
  }

  shown(): void {
    if (this.#context.room !== this.#room) {
      this.#room = this.#context.room;
      this.#clearedUntil = 0;
    }
    this.#showLog();
    this.#poll.start();
  }

  hidden(): void {
    this.#poll.stop();
  }

  #filters(): HTMLElement {
    const types = new Set<LogType>(LOG_TYPES);
    const text = make("input", {
      type: "search",
      placeholder: "Filter",
      "aria-label": "Filter by text",
      spellcheck: "false",
    });
    const apply = (): void => {
      this.#log.filter = { types, text: text.value };
      this.#log.show();
    };
    text.addEventListener("input", apply);
    const boxes = LOG_TYPES.map((type) => {
      const box = make("input", { type: "checkbox", checked: true });
      box.addEventListener("change", () => {
        if (box.checked) types.add(type);
        else types.delete(type);
        apply();
      });
      return make("label", { class: `chip ${type}` }, box, type);
    });
    return make(
      "div",
      { class: "row filters" },
      text,
      ...boxes,
      button("Clear", () => this.#clear()),
      this.#dropped,
    );
  }

  #clear(): void {
    this.#clearedUntil = this.#context.log.lines.at(-1)?.n ?? 0;
    this.#showLog();
  }

  #showLog(): void {
    if (this.panel.hidden) return;
    const { lines, dropped } = this.#context.log;
    this.#log.lines = lines.filter(({ n }) => n > this.#clearedUntil);
    setText(this.#dropped, dropped === 0 ? "" : `${dropped} older lines were dropped`);
  }

  async #readMetrics(): Promise<void> {
    const plots = plotsOf(await this.#context.api.metrics());
    this.#plots.replaceChildren(...plots.map(({ label, values, text }) => lineChart(label, values, text)));
  }
}
