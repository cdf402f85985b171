/** One carrier's part of the page: the number of returned messages, their histogram, and its interpretation. */
import type { CarrierKind } from "nowcast/internal";
import { judge, summarise } from "./round-trips.js";

const NAMES: Record<string, string> = { webtransport: "WebTransport", websocket: "WebSocket" };
const BINS = 60;

export class ProbeCard {
  readonly element = document.createElement("article");
  readonly #count = document.createElement("span");
  readonly #canvas = document.createElement("canvas");
  readonly #verdict = document.createElement("p");
  readonly #details = document.createElement("p");
  readonly #total: number;

  constructor(kind: CarrierKind, total: number) {
    this.#total = total;
    this.element.className = "probe";
    this.element.dataset["carrier"] = kind;
    const title = document.createElement("h3");
    title.append(NAMES[kind] ?? kind, this.#count);
    this.#count.className = "count";
    this.#count.textContent = `0/${total}`;
    this.#canvas.setAttribute("role", "img");
    this.#canvas.setAttribute("aria-label", `Histogram of round-trip times over ${NAMES[kind] ?? kind}`);
    this.#verdict.className = "verdict";
    this.#details.className = "details";
    this.element.append(title, this.#canvas, this.#verdict, this.#details);
  }

  fail(cause: string): void {
    this.#verdict.className = "verdict poor";
    this.#verdict.textContent = `Not possible here: ${cause}`;
    this.#canvas.hidden = true;
  }

  /** `reachMs` is the right end of the axis, the same for all cards. */
  draw(trips: readonly (number | undefined)[], reachMs: number, isDone: boolean): void {
    const summary = summarise(trips);
    this.#count.textContent = `${summary.back}/${this.#total}`;
    this.#histogram(
      trips.filter((trip) => trip !== undefined),
      reachMs,
      summary.usualMs,
    );
    if (summary.back === 0) return;
    const ms = (value: number): string => `${value.toFixed(value < 100 ? 1 : 0)} ms`;
    this.#details.textContent = `half within ${ms(summary.p50Ms)}, 99 % within ${ms(summary.p99Ms)}, all within ${ms(summary.maxMs)}`;
    if (!isDone) return;
    const { mark, words } = judge(summary);
    this.#verdict.className = `verdict ${mark}`;
    this.#verdict.textContent = words;
  }

  #histogram(trips: readonly number[], reachMs: number, usualMs: number): void {
    const canvas = this.#canvas;
    const ratio = devicePixelRatio;
    const { clientWidth: width, clientHeight: height } = canvas;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const context = canvas.getContext("2d");
    if (context === null || width === 0) return;
    context.scale(ratio, ratio);
    // A canvas does not support light-dark(), so the computed colour of an element is used.
    const colour = (name: string): string => {
      canvas.style.color = `var(${name})`;
      return getComputedStyle(canvas).color;
    };
    const counts = new Array<number>(BINS).fill(0);
    for (const trip of trips) {
      const bin = Math.min(Math.floor((trip / reachMs) * BINS), BINS - 1);
      counts[bin] = (counts[bin] ?? 0) + 1;
    }
    const bottom = height - 20;
    // The scale is logarithmic, so that a single late message among hundreds is visible.
    const highest = Math.log1p(Math.max(...counts, 1));
    counts.forEach((count, bin) => {
      if (count === 0) return;
      const left = (bin / BINS) * width;
      const isLate = ((bin + 0.5) / BINS) * reachMs > usualMs + 15;
      context.fillStyle = colour(isLate ? "--late" : "--bar");
      const tall = Math.max((Math.log1p(count) / highest) * (bottom - 16), 3);
      context.fillRect(left, bottom - tall, width / BINS - 1.5, tall);
      // Late messages are few but important, so they are drawn in another colour.
      if (!isLate) return;
      context.fillStyle = colour("--soft");
      context.font = "10px system-ui";
      context.textAlign = "center";
      context.fillText(String(count), left + width / BINS / 2, bottom - tall - 4);
    });
    context.fillStyle = colour("--line");
    context.fillRect(0, bottom, width, 1);
    context.fillStyle = colour("--soft");
    context.font = "11px system-ui";
    for (let tick = 0; tick <= 4; tick += 1) {
      context.textAlign = tick === 0 ? "left" : tick === 4 ? "right" : "center";
      context.fillText(`${Math.round((reachMs * tick) / 4)} ms`, (width * tick) / 4, height - 5);
    }
  }
}
