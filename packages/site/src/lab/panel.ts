/** One contestant of the lab: a dot that it shows, its figures and its histogram. */
import { contextOf, element, themeColour } from "../dom.js";
import { BINS, binOf, edgeMs } from "./histogram.js";
import type { Contestant } from "./lab.js";

const MARKS_MS = [10, 100, 1_000, 10_000];
/** The dot goes round once in this time. */
const LAP_US = 2_500_000;

export class Panel {
  readonly root: HTMLElement;
  readonly #contestant: Contestant;
  readonly #picture = element("canvas", { class: "lab-picture", role: "img" });
  readonly #histogram = element("canvas", { class: "lab-histogram", role: "img" });
  readonly #figures = element("dl");
  readonly #colour: string;
  readonly #title: string;
  readonly #moreFigures: () => readonly (readonly [string, string])[];

  constructor(
    title: string,
    explanation: string,
    colour: string,
    contestant: Contestant,
    moreFigures: () => readonly (readonly [string, string])[],
  ) {
    this.#title = title;
    this.#colour = colour;
    this.#contestant = contestant;
    this.#moreFigures = moreFigures;
    this.root = element(
      "section",
      { class: "lab-panel" },
      element("h3", {}, title),
      element("p", {}, explanation),
      this.#picture,
      this.#figures,
      this.#histogram,
    );
  }

  draw(nowUs: number, kilobytesPerSecond: number): void {
    this.#drawDot(nowUs);
    this.#drawHistogram();
    this.#showFigures(kilobytesPerSecond);
  }

  /** Draws a ring at the dot's true place, and the dot where this receiver shows it. */
  #drawDot(nowUs: number): void {
    const { context, width, height } = contextOf(this.#picture);
    const place = (putAtUs: number): [number, number] => {
      const angle = (putAtUs / LAP_US) * 2 * Math.PI;
      return [
        width / 2 + (width / 2 - 16) * Math.cos(angle),
        height / 2 + (height / 2 - 14) * Math.sin(angle),
      ];
    };
    context.strokeStyle = themeColour(this.root, "--vp-c-text-3");
    context.lineWidth = 1.5;
    context.beginPath();
    context.arc(...place(nowUs), 9, 0, 2 * Math.PI);
    context.stroke();
    context.fillStyle = this.#colour;
    context.beginPath();
    context.arc(...place(this.#contestant.receiver.putAtUs[1]!), 7, 0, 2 * Math.PI);
    context.fill();
  }

  #drawHistogram(): void {
    const { context, width, height } = contextOf(this.#histogram);
    const { ages } = this.#contestant.receiver;
    const counts = ages.counts();
    const most = Math.max(1, ...counts);
    const floor = height - 16;
    const step = width / BINS;
    context.fillStyle = this.#colour;
    counts.forEach((count, bin) => {
      // The square root shows rare ages beside frequent ones.
      const bar = Math.sqrt(count / most) * (floor - 4);
      if (count > 0)
        context.fillRect(bin * step, floor - Math.max(bar, 1), Math.max(step - 1, 1), Math.max(bar, 1));
    });
    context.fillStyle = themeColour(this.root, "--vp-c-text-2");
    context.fillRect(0, floor, width, 1);
    context.font = "11px sans-serif";
    context.textAlign = "center";
    for (const mark of MARKS_MS) {
      const text = mark < 1_000 ? `${mark} ms` : `${mark / 1_000} s`;
      context.fillText(text, binOf(mark) * step + step / 2, height - 3);
    }
  }

  #showFigures(kilobytesPerSecond: number): void {
    const { ages, eventTimes } = this.#contestant.receiver;
    const figures: readonly (readonly [string, string])[] = [
      ["age, p50", duration(ages.quantileMs(0.5))],
      ["age, p99", duration(ages.quantileMs(0.99))],
      ["events, p99", duration(eventTimes.quantileMs(0.99))],
      ...this.#moreFigures(),
      ["on the link", `${kilobytesPerSecond.toFixed(0)} kB/s`],
    ];
    this.#figures.replaceChildren(
      ...figures.map(([name, value]) =>
        element("div", {}, element("dt", {}, name), element("dd", {}, value)),
      ),
    );
    this.#histogram.setAttribute("aria-label", `Ages of ${this.#title}, ${edgeMs(0)} ms to 20 s`);
    this.#picture.setAttribute("aria-label", `A moving dot, as ${this.#title} shows it`);
  }
}

/** Quantiles are edges of bins, so more digits would mean nothing. */
function duration(milliseconds: number | undefined): string {
  if (milliseconds === undefined) return "–";
  return milliseconds < 1_000
    ? `≤ ${milliseconds.toFixed(0)} ms`
    : `≤ ${(milliseconds / 1_000).toFixed(1)} s`;
}
