import { Impairment, LINK_PRESETS, type LinkConditions } from "nowcast/impair";
import type { LinkPreset, PathConditions } from "nowcast/internal";
import { joinWorld, type World } from "nowcast/world";
import { lineChart } from "../chart.js";
import type { Context, Tab } from "../context.js";
import { button, make, setText } from "../dom.js";
import { LossMeter } from "./loss-meter.js";

const INTERVAL_MS = 500;
const SAMPLES_MAX = 120;
const OUTAGE_MS = 2_000;

const PRESETS: readonly (readonly [LinkPreset, string])[] = [
  ["clear", "No effect"],
  ["wifi", "Wi-Fi"],
  ["4g", "4G"],
  ["satellite", "Satellite"],
  ["train", "Train"],
];

interface Slider {
  readonly name: "delayMs" | "jitterMs" | "loss" | "burst" | "kilobitsPerSecond";
  readonly label: string;
  readonly steps: readonly number[];
  readonly show: (value: number) => string;
}

const ms = (value: number): string => `${value} ms`;
const SLIDERS: readonly Slider[] = [
  { name: "delayMs", label: "Delay", steps: [0, 4, 10, 25, 45, 75, 100, 150, 290], show: ms },
  { name: "jitterMs", label: "Jitter, up to", steps: [0, 5, 12, 15, 20, 40, 60, 100], show: ms },
  {
    name: "loss",
    label: "Loss",
    steps: [0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3],
    show: (value) => `${+(value * 100).toFixed(1)} %`,
  },
  { name: "burst", label: "Lost in a row", steps: [1, 2, 3, 5, 8, 12], show: String },
  {
    name: "kilobitsPerSecond",
    label: "Capacity",
    steps: [100, 200, 400, 1_000, 4_000, 5_000, 10_000, 20_000, 30_000, Number.POSITIVE_INFINITY],
    show: (value) =>
      value === Number.POSITIVE_INFINITY ? "no limit" : `${value.toLocaleString("en")} kbit/s`,
  },
];

type Direction = "up" | "down";

/** The author's own connection over a bad link, with the resulting figures. */
export class NetTab implements Tab {
  readonly panel = make("div", { class: "sheet net-tab" });
  readonly #context: Context;
  readonly #impair = new Impairment({ conditions: LINK_PRESETS.clear, seed: 1 });
  readonly #figures = new Map<string, HTMLElement>();
  readonly #plots = make("div", { class: "cards plots" });
  readonly #refreshers: (() => void)[] = [];
  readonly #meters = { up: new LossMeter(), down: new LossMeter() };
  readonly #samples: { ping: (number | null)[]; loss: (number | null)[]; age: (number | null)[] } = {
    ping: [],
    loss: [],
    age: [],
  };
  #preset: LinkPreset | undefined = "clear";
  #world: World | undefined;
  #room: string | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(context: Context) {
    this.#context = context;
    const presets = PRESETS.map(([name, label]) => {
      const made = button(label, () => this.#choose(name));
      this.#refreshers.push(() => made.setAttribute("aria-pressed", String(this.#preset === name)));
      return made;
    });
    this.panel.append(
      make(
        "section",
        {},
        make("h2", {}, "A bad link for this page's connection"),
        make(
          "p",
          { class: "muted" },
          "This tab joins the room as a program. Its packets are delayed and lost in this page, in both directions.",
        ),
        make(
          "div",
          { class: "row", role: "group", "aria-label": "Presets" },
          ...presets,
          button(`Outage of ${OUTAGE_MS / 1_000} s`, () => this.#impair.interrupt(OUTAGE_MS)),
        ),
        make(
          "div",
          { class: "cards" },
          this.#direction("up", "To the server"),
          this.#direction("down", "From the server"),
        ),
      ),
      make("section", {}, make("h2", {}, "Figures of this connection"), this.#makeFigures(), this.#plots),
    );
    this.#refresh();
  }

  shown(): void {
    if (this.#context.room !== this.#room || this.#world === undefined) this.#join(this.#context.room);
    this.#timer ??= setInterval(() => this.#sample(), INTERVAL_MS);
  }

  hidden(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#world?.close();
    this.#world = undefined;
  }

  #join(room: string | undefined): void {
    this.#world?.close();
    this.#world = undefined;
    this.#room = room;
    if (room === undefined) return;
    const url = new URL(`../r/${encodeURIComponent(room)}`, window.location.href).href;
    const { token } = this.#context.api;
    this.#world = joinWorld(url, {
      role: "program",
      name: "Net lab",
      token,
      impair: this.#impair,
      retry: true,
    });
    this.#world.ready.catch((error) => this.#context.attempt(() => Promise.reject(error)));
  }

  #choose(preset: LinkPreset): void {
    this.#preset = preset;
    this.#impair.conditions = LINK_PRESETS[preset];
    this.#refresh();
  }

  #set(direction: Direction, changes: Partial<LinkConditions>): void {
    const { conditions } = this.#impair;
    const changed: PathConditions = {
      ...conditions,
      [direction]: { ...conditions[direction], ...changes },
    };
    this.#preset = undefined;
    this.#impair.conditions = changed;
    this.#refresh();
  }

  #refresh(): void {
    for (const refresh of this.#refreshers) refresh();
  }

  #direction(direction: Direction, label: string): HTMLElement {
    return make(
      "div",
      { class: "card sliders", role: "group", "aria-label": label },
      make("b", {}, label),
      ...SLIDERS.map((slider) => this.#slider(direction, slider)),
    );
  }

  #slider(direction: Direction, { name, label, steps, show }: Slider): HTMLElement {
    const input = make("input", {
      type: "range",
      min: "0",
      max: String(steps.length - 1),
      "aria-label": label,
      "data-name": `${direction}-${name}`,
    });
    const output = make("output");
    input.addEventListener("input", () => this.#set(direction, { [name]: steps[input.valueAsNumber]! }));
    this.#refreshers.push(() => {
      const value = this.#impair.conditions[direction][name];
      const at = steps.findIndex((step) => step >= value);
      input.value = String(at);
      setText(output, show(value));
      input.setAttribute("aria-valuetext", show(value));
    });
    return make("label", { class: "slider" }, make("span", {}, label), input, output);
  }

  #makeFigures(): HTMLElement {
    const names = [
      "status",
      "carrier",
      "round trip",
      "age of data",
      "jitter",
      "lost up",
      "lost down",
      "sent again",
      "replaced",
    ];
    const cells = names.map((name) => {
      const value = make("dd", { "data-figure": name }, "–");
      this.#figures.set(name, value);
      return make("div", { class: "figure" }, make("dt", {}, name), value);
    });
    return make("dl", { class: "figures" }, ...cells);
  }

  #sample(): void {
    const world = this.#world;
    if (!world) return;
    const { pingMs, jitterMs, link } = world.stats;
    const { up, down } = this.#impair.figures;
    const [lostUp, lostDown] = [this.#meters.up.add(up), this.#meters.down.add(down)];
    const inMs = (value: number | undefined) => (value === undefined ? "–" : `${value.toFixed(0)} ms`);
    const share = (value: number | undefined) =>
      value === undefined ? "–" : `${(value * 100).toFixed(1)} %`;
    const texts: Record<string, string> = {
      status: world.status,
      carrier: link?.carrier ?? "none",
      "round trip": inMs(pingMs),
      "age of data": inMs(link?.ageMs),
      jitter: inMs(jitterMs),
      "lost up": share(lostUp),
      "lost down": share(lostDown),
      "sent again": String(link?.resent ?? "–"),
      replaced: String(link?.superseded ?? "–"),
    };
    for (const [name, text] of Object.entries(texts)) setText(this.#figures.get(name)!, text);
    push(this.#samples.ping, pingMs);
    push(this.#samples.age, link?.ageMs);
    push(this.#samples.loss, lostDown === undefined ? undefined : lostDown * 100);
    this.#plots.replaceChildren(
      lineChart("Round trip", this.#samples.ping, inMs),
      lineChart("Age of data", this.#samples.age, inMs),
      lineChart("Lost from the server", this.#samples.loss, (value) => `${value.toFixed(1)} %`),
    );
  }
}

function push(samples: (number | null)[], value: number | undefined): void {
  samples.push(value ?? null);
  if (samples.length > SAMPLES_MAX) samples.shift();
}
