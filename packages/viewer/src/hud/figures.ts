import type { World } from "nowcast/world";
import { element } from "../dom.js";
import { words } from "../words.js";
import { NetGraph } from "./net-graph.js";

const REFRESH_MS = 250;
type Row = keyof typeof words.rows;

/** Metrics of the network and the picture, with a graph. They are updated four times a second. */
export class Figures {
  readonly graph = new NetGraph(element("net-graph", HTMLCanvasElement));
  readonly #panel = element("figures", HTMLElement);
  readonly #toggle = element("hud-toggle", HTMLButtonElement);
  readonly #cells = new Map<Row, HTMLElement>();
  #sinceMs = 0;
  #frames = 0;
  readonly #onToggle: (visible: boolean) => void;

  constructor(onToggle: (visible: boolean) => void) {
    this.#onToggle = onToggle;
    const list = element("figures-list", HTMLElement);
    for (const row of Object.keys(words.rows) as Row[]) {
      const [label, meaning] = words.rows[row];
      const term = document.createElement("dt");
      term.textContent = label ?? row;
      term.title = meaning ?? "";
      const cell = document.createElement("dd");
      cell.dataset["figure"] = row;
      if (row === "carrier") cell.className = "wide";
      list.append(term, cell);
      this.#cells.set(row, cell);
    }
    this.#toggle.addEventListener("click", () => this.flip());
  }

  flip(): void {
    this.setVisible(this.#panel.hidden);
    this.#onToggle(!this.#panel.hidden);
  }

  setVisible(visible: boolean): void {
    this.#panel.hidden = !visible;
    this.#toggle.setAttribute("aria-pressed", String(visible));
  }

  update(frameMs: number, { stats, display, entities }: World): void {
    this.#sinceMs += frameMs;
    this.#frames++;
    if (this.#sinceMs < REFRESH_MS) return;
    const fps = (this.#frames * 1000) / this.#sinceMs;
    this.#sinceMs = 0;
    this.#frames = 0;
    if (this.#panel.hidden) return;
    this.#write(
      "ping",
      stats.pingMs === undefined ? "–" : `${stats.pingMs.toFixed(stats.pingMs < 10 ? 1 : 0)} ms`,
    );
    this.#write("delay", `${display.delayMs.toFixed(0)} ms`);
    this.#write("jitter", `${stats.jitterMs.toFixed(1)} ms`);
    const { link } = stats;
    this.#write("loss", link === undefined ? "–" : `${(link.loss * 100).toFixed(1)} %`);
    this.#write("age", link?.ageMs === undefined ? "–" : `${link.ageMs.toFixed(0)} ms`);
    this.#write("superseded", link === undefined ? "–" : String(link.superseded));
    this.#write("resent", link === undefined ? "–" : String(link.resent));
    this.#write("packets", `${stats.packetsPerSecond.toFixed(0)}/s`);
    this.#write("bytes", formatBytes(stats.bytesPerSecond));
    this.#write("entities", String(entities.size));
    this.#write("fps", `${fps.toFixed(0)}/s`);
    this.#write("reconnects", String(stats.reconnects));
    this.#write("carrier", link?.carrier ?? "–");
    this.graph.draw(stats.snapshotIntervalMs ?? 100);
  }

  #write(row: Row, text: string): void {
    const cell = this.#cells.get(row);
    if (cell && cell.textContent !== text) cell.textContent = text;
  }
}

export function formatBytes(perSecond: number): string {
  if (perSecond < 1000) return `${perSecond.toFixed(0)} B/s`;
  if (perSecond < 1e6) return `${(perSecond / 1000).toFixed(1)} kB/s`;
  return `${(perSecond / 1e6).toFixed(2)} MB/s`;
}
