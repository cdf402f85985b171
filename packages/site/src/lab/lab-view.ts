/** The playable lab: three transports side by side, on a link that the reader changes. */
import { element } from "../dom.js";
import { makeControls } from "./controls.js";
import { Lab, type LabSettings, USUAL } from "./lab.js";
import { Panel } from "./panel.js";
import "./lab.css";

const SEED = 7;
/** Maximum time that one frame simulates, so that a page that was hidden does not catch up. */
const FRAME_MS_MAX = 50;
/** Interval at which figures change, long enough to read them. */
const FIGURES_MS = 250;

declare global {
  interface Window {
    /** The lab of this page, for the console and for tests. */
    nowcastLab?: LabView | undefined;
  }
}

export function mountLab(root: HTMLElement): () => void {
  const view = new LabView(root);
  window.nowcastLab = view;
  return () => {
    view.stop();
    window.nowcastLab = undefined;
  };
}

export class LabView {
  lab = new Lab(SEED);
  readonly #panels = element("div", { class: "lab-panels" });
  readonly #time = element("span", { class: "lab-time" });
  readonly #pause = element("button", { type: "button", class: "lab-pause" }, "Pause");
  #shown: readonly Panel[] = [];
  #settings: LabSettings = USUAL;
  #frame = 0;
  #lastMs: number | undefined;
  #figuresAtMs = 0;
  #bytes: readonly number[] = [0, 0, 0];
  #rates: readonly number[] = [0, 0, 0];

  constructor(root: HTMLElement) {
    const restart = element("button", { type: "button" }, "Start again");
    restart.addEventListener("click", () => this.#restart());
    this.#pause.addEventListener("click", () => (this.#frame === 0 ? this.#play() : this.#hold()));
    const buttons = element("div", { class: "lab-buttons" }, this.#pause, restart, this.#time);
    const controls = makeControls((settings) => {
      this.#settings = settings;
      this.lab.settings = settings;
    });
    root.replaceChildren(element("div", { class: "lab" }, controls, buttons, this.#panels));
    this.#restart();
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) this.#play();
    else this.#hold();
  }

  stop(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
  }

  #restart(): void {
    this.lab = new Lab(SEED, this.#settings);
    const { tcp, datagrams, queue } = this.lab;
    this.#shown = [
      new Panel("TCP, in order", "Every value arrives, one after the other.", "#d9534f", tcp, () => [
        ["wait to leave", kilobytes(tcp.transport.unsentBytes)],
      ]),
      new Panel("UDP, newest", "A lost packet is lost.", "#b8860b", datagrams, () => [
        ["events lost", String(datagrams.transport.eventsLost)],
      ]),
      new Panel("Updatable queue", "The newest states, and every event.", "#2e8b57", queue, () => [
        ["replaced", String(queue.transport.superseded)],
      ]),
    ];
    this.#bytes = [0, 0, 0];
    this.#panels.replaceChildren(...this.#shown.map(({ root }) => root));
  }

  #play(): void {
    this.#pause.textContent = "Pause";
    this.#lastMs = undefined;
    this.#frame = requestAnimationFrame((nowMs) => this.#next(nowMs));
  }

  #hold(): void {
    this.stop();
    this.#pause.textContent = "Run";
  }

  #next(nowMs: number): void {
    const elapsedMs = Math.min(FRAME_MS_MAX, nowMs - (this.#lastMs ?? nowMs));
    this.#lastMs = nowMs;
    this.lab.advance(elapsedMs);
    this.#draw();
    this.#frame = requestAnimationFrame((next) => this.#next(next));
  }

  #draw(): void {
    const { nowUs } = this.lab.timeline;
    const sinceMs = nowUs / 1_000 - this.#figuresAtMs;
    if (sinceMs < 0 || sinceMs >= FIGURES_MS) {
      const bytes = this.lab.contestants.map(({ transport }) => transport.bytes);
      this.#rates = bytes.map((sum, index) => Math.max(0, sum - this.#bytes[index]!) / Math.max(sinceMs, 1));
      this.#bytes = bytes;
      this.#figuresAtMs = nowUs / 1_000;
      this.#time.textContent = `${(nowUs / 1e6).toFixed(0)} s, ${this.lab.eventsPut} events put`;
    }
    this.#shown.forEach((panel, index) => {
      panel.draw(nowUs, this.#rates[index]!);
    });
  }
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1_000).toFixed(0)} kB`;
}
