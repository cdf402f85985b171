import type { Profile, Step } from "../api/types.js";
import { draw } from "../chart.js";
import type { Context, Tab } from "../context.js";
import { button, figures, make, table } from "../dom.js";
import { Poll } from "../poll.js";
import { bytesText } from "../value.js";
import { flame, hookName, msText, PHASES } from "./flame.js";

const INTERVAL_MS = 1_000;
const STEPS = 120;
const [WIDTH, HEIGHT] = [1_200, 240];

/** The time of a room's steps by phase, the hooks of its rules, and its slowest steps. */
export class StepTab implements Tab {
  readonly panel = make("div", { class: "sheet" });
  readonly #context: Context;
  readonly #poll: Poll;
  readonly #summary = make("div", { role: "status" });
  readonly #chart = make("div");
  readonly #flame = make("div");
  readonly #hooks = make("div");
  readonly #slowest = make("div");
  /** The parts that need measured steps. */
  readonly #measured: readonly HTMLElement[];
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
      make("span", {}, make("i", { class: "budget-key" }), "budget"),
    );
    const mean = make("section", {}, make("h2", {}, "Mean step by phase and function"), this.#flame);
    const functions = make("section", {}, make("h2", {}, "Functions of the rules"), this.#hooks);
    this.#measured = [this.#chart, legend, mean, functions];
    this.panel.append(
      make(
        "section",
        {},
        make("h2", {}, `The last ${STEPS} steps`, pause),
        this.#summary,
        this.#chart,
        legend,
      ),
      mean,
      functions,
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
    const { steps, budgetUs } = profile;
    const isMeasured = steps.length > 0;
    for (const element of this.#measured) element.hidden = !isMeasured;
    this.#summary.replaceChildren(
      isMeasured ? figures(summaryOf(profile)) : make("p", { class: "empty" }, "Measuring begins now."),
    );
    this.#chart.replaceChildren(barChart(steps, budgetUs));
    this.#flame.replaceChildren(flame(profile));
    // The buttons that open a place keep the focus.
    if (!this.#hooks.contains(document.activeElement)) this.#showHooks(profile);
    if (!this.#slowest.contains(document.activeElement)) this.#showSlowest(profile);
  }

  #showHooks({ hooks, hookSteps = 0 }: Profile): void {
    if (hooks.length === 0) {
      const empty = "No function of the rules ran in the measured steps, or the rules are a program.";
      this.#hooks.replaceChildren(make("p", { class: "empty" }, empty));
      return;
    }
    const rows = hooks.map((hook) => [
      hookName(hook),
      this.#place(hook),
      hook.calls.toLocaleString("en"),
      msText(hook.us / Math.max(1, hookSteps)),
      msText(hook.us / Math.max(1, hook.calls)),
      msText(hook.usMax),
      hook.units.toLocaleString("en"),
      bytesText(hook.bytes),
    ]);
    const heads = ["Function", "Place", "Calls", "A step", "A call", "Longest step", "Units", "Allocated"];
    this.#hooks.replaceChildren(table("Functions", heads, rows, [2, 3, 4, 5, 6, 7]));
  }

  #place({ file, line }: Profile["hooks"][number]): string | Node {
    if (file === null || line === null) return "–";
    return button(`${file}:${line}`, () => this.#context.openCode(file, line), { class: "link" });
  }

  #showSlowest({ slowest }: Profile): void {
    if (slowest.length === 0) {
      const empty = "No slow step was measured in the last hour.";
      this.#slowest.replaceChildren(make("p", { class: "empty" }, empty));
      return;
    }
    const rows = slowest.map((step) => [
      String(step.tick),
      msText(step.totalUs),
      ...PHASES.map((name) => msText(step.phases[name] ?? 0)),
      button("Open the moment", () => this.#context.openStep(step.tick), {
        class: "link",
        "aria-label": `Open the moment of step ${step.tick}`,
      }),
    ]);
    const heads = ["Step", "Time", ...PHASES, "Moment"];
    this.#slowest.replaceChildren(table("Slowest steps", heads, rows, [0, 1, 2, 3, 4, 5, 6]));
  }
}

/** The figures above the chart. */
function summaryOf(profile: Profile): readonly (readonly [string, string])[] {
  const { steps, budgetUs, work, workMax, memoryBytes, memoryBytesMax } = profile;
  const sorted = steps.map(({ totalUs }) => totalUs).sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  const late = sorted.filter((us) => us > budgetUs).length;
  const rows: [string, string][] = [
    ["median", msText(at(0.5))],
    ["99 % are shorter than", msText(at(0.99))],
    ["budget of a step", msText(budgetUs)],
    ["steps over budget", `${late} of ${sorted.length}`],
  ];
  if (work !== null && workMax !== null && workMax > 0) {
    rows.push(["work of the rules", `${work.toLocaleString("en")} of ${workMax.toLocaleString("en")}`]);
  }
  if (memoryBytes !== null && memoryBytes !== undefined) {
    const limit = memoryBytesMax ? ` of ${bytesText(memoryBytesMax)}` : "";
    rows.push(["memory of the rules", `${bytesText(memoryBytes)}${limit}`]);
  }
  return rows;
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
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": "Time of each step",
    },
    ...bars,
    draw("line", { class: "budget", x1: 0, x2: WIDTH, y1: budgetY, y2: budgetY }),
  );
}
