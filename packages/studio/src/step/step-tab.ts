import type { Profile, Step } from "../api/types.js";
import { draw } from "../chart.js";
import type { Context, Tab } from "../context.js";
import { button, make, setText, table } from "../dom.js";
import { Poll } from "../poll.js";

const INTERVAL_MS = 1_000;
const STEPS = 120;
const PHASES = ["world", "changes", "store", "replication", "other"];
const [WIDTH, HEIGHT] = [600, 140];

/** Milliseconds as text. */
function msText(us: number): string {
  return `${(us / 1_000).toFixed(2)} ms`;
}

/** The time of a room's steps by phase, the hooks of its rules, and its slowest steps. */
export class StepTab implements Tab {
  readonly panel = make("div", { class: "sheet" });
  readonly #context: Context;
  readonly #poll: Poll;
  readonly #summary = make("p", { class: "muted", role: "status" });
  readonly #chart = make("div");
  readonly #flame = make("div", { class: "flame" });
  readonly #hooks = make("div");
  readonly #slowest = make("div");
  #isPaused = false;

  constructor(context: Context) {
    this.#context = context;
    this.#poll = new Poll(
      () => this.#update(),
      INTERVAL_MS,
      (error) => void context.attempt(() => Promise.reject(error)),
    );
    const pause = button(
      "Pause",
      () => {
        this.#isPaused = !this.#isPaused;
        pause.setAttribute("aria-pressed", String(this.#isPaused));
      },
      { "aria-pressed": "false" },
    );
    const legend = make(
      "p",
      { class: "legend" },
      ...PHASES.map((name, index) => make("span", {}, make("i", { class: `phase-key-${index}` }), name)),
    );
    this.panel.append(
      make(
        "section",
        {},
        make("h2", {}, `The last ${STEPS} steps`, pause),
        this.#summary,
        this.#chart,
        legend,
      ),
      make("section", {}, make("h2", {}, "Mean step"), this.#flame),
      make("section", {}, make("h2", {}, "Hooks of the rules"), this.#hooks),
      make("section", {}, make("h2", {}, "Slowest steps of the last hour"), this.#slowest),
    );
  }

  shown(): void {
    this.#poll.start();
  }

  hidden(): void {
    this.#poll.stop();
  }

  async #update(): Promise<void> {
    const { room, api } = this.#context;
    if (room === undefined || this.#isPaused) return;
    const profile = await api.profile(room, STEPS);
    const { steps, budgetUs, work, workMax } = profile;
    const sorted = steps.map(({ totalUs }) => totalUs).sort((a, b) => a - b);
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
    const budget =
      work === null || workMax === null
        ? ""
        : `, rules ${((work / workMax) * 100).toFixed(1)} % of their work budget`;
    setText(
      this.#summary,
      sorted.length === 0
        ? "measuring begins now"
        : `median ${msText(at(0.5))}, p99 ${msText(at(0.99))}, budget ${msText(budgetUs)}${budget}`,
    );
    this.#chart.replaceChildren(barChart(steps, budgetUs));
    this.#showFlame(profile);
    this.#showHooks(profile);
    // The buttons that open a moment keep the focus.
    if (!this.#slowest.contains(document.activeElement)) this.#showSlowest(profile);
  }

  #showFlame({ steps, hooks }: Profile): void {
    const count = Math.max(1, steps.length);
    const total = steps.reduce((sum, { totalUs }) => sum + totalUs, 0) / count;
    const phases = PHASES.map((name, index) => ({
      name,
      index,
      us: steps.reduce((sum, step) => sum + (step.phases[name] ?? 0), 0) / count,
    })).filter(({ us }) => us > 0);
    const inRules = hooks.reduce((sum, { us }) => sum + us, 0) / count;
    const world = phases.find(({ name }) => name === "world")?.us ?? 0;
    const bar = (name: string, us: number): HTMLElement => {
      const box = make("div", { title: `${name}: ${msText(us)}` }, `${name} ${msText(us)}`);
      box.style.flex = `${Math.max(us, 1)} 1 0`;
      return box;
    };
    const rest = make("div", { "aria-hidden": "true" });
    rest.style.flex = `${Math.max(1, total - world)} 1 0`;
    rest.style.visibility = "hidden";
    const parts = [bar("rules", inRules), bar("physics and motion", Math.max(0, world - inRules)), rest];
    this.#flame.replaceChildren(
      make("div", { class: "flame-row" }, bar("step", total)),
      make("div", { class: "flame-row" }, ...phases.map(({ name, us }) => bar(name, us))),
      ...(inRules > 0 ? [make("div", { class: "flame-row" }, ...parts)] : []),
    );
  }

  #showHooks({ hooks }: Profile): void {
    if (hooks.length === 0) {
      this.#hooks.replaceChildren(make("p", { class: "muted" }, "The server measured no hooks."));
      return;
    }
    const rows = [...hooks]
      .sort((a, b) => b.us - a.us)
      .map(({ name, calls, us }) => [
        name,
        String(calls),
        msText(us),
        `${(us / Math.max(1, calls)).toFixed(1)} µs`,
      ]);
    this.#hooks.replaceChildren(table("Hooks", ["Hook", "Calls", "Time", "Each"], rows));
  }

  #showSlowest({ slowest }: Profile): void {
    const rows = slowest.map((step) => [
      String(step.tick),
      msText(step.totalUs),
      PHASES.map((name) => `${name} ${msText(step.phases[name] ?? 0)}`).join(", "),
      button("Open this moment", () => this.#context.openStep(step.tick), { class: "link" }),
    ]);
    this.#slowest.replaceChildren(table("Slowest steps", ["Step", "Time", "Phases", ""], rows));
  }
}

/** The steps as bars of their phases; the scale has room for the budget. */
export function barChart(steps: readonly Step[], budgetUs: number): SVGElement {
  const top = Math.max(budgetUs * 1.1, ...steps.map(({ totalUs }) => totalUs));
  const wide = WIDTH / Math.max(1, steps.length);
  const high = (us: number): number => (us / top) * HEIGHT;
  const bars = steps.map((step, index) => {
    let from = HEIGHT;
    const parts = PHASES.map((name, phase) => {
      const height = high(step.phases[name] ?? 0);
      from -= height;
      return draw("rect", {
        class: `phase-${phase}`,
        x: index * wide,
        y: from.toFixed(2),
        width: Math.max(1, wide - 1),
        height: height.toFixed(2),
      });
    });
    return draw("g", {}, draw("title", {}, `step ${step.tick}: ${msText(step.totalUs)}`), ...parts);
  });
  const budgetY = HEIGHT - high(budgetUs);
  return draw(
    "svg",
    {
      class: "chart steps",
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      role: "img",
      "aria-label": "Time of each step",
    },
    ...bars,
    draw("line", { class: "budget", x1: 0, x2: WIDTH, y1: budgetY, y2: budgetY }),
    draw("text", { x: 4, y: budgetY - 3 }, `budget ${msText(budgetUs)}`),
  );
}
