/** The animation of the updatable queue: a sender that is faster than its receiver, beside a plain queue. */
import type { QueueEntry } from "nowcast/internal";
import { element } from "../dom.js";
import { KEYS, QueueModel, type Taken, type Value } from "./queue-model.js";
import "../lab/lab.css";
import "./queue.css";

const PUT_MS = 450;
const TAKE_MS = 900;
/** The number of states between two events. */
const STATES_PER_EVENT = 6;

export function mountQueue(root: HTMLElement): () => void {
  const view = new QueueView(root);
  return () => view.stop();
}

class QueueView {
  #model = new QueueModel();
  readonly #log = element("p", { class: "queue-log", "aria-live": "polite" });
  readonly #rows = {
    plain: element("div", { class: "queue-row" }),
    updatable: element("div", { class: "queue-row" }),
  };
  readonly #shown = { plain: element("span"), updatable: element("span") };
  readonly #run = element("button", { type: "button" });
  #timers: number[] = [];
  #puts = 0;

  constructor(root: HTMLElement) {
    const button = (text: string, act: () => void): HTMLElement => {
      const made = element("button", { type: "button" }, text);
      made.addEventListener("click", () => {
        act();
        this.#draw();
      });
      return made;
    };
    const puts = KEYS.map((name, key) => button(`Put state ${name}`, () => this.#putState(key)));
    this.#run.addEventListener("click", () => (this.#timers.length > 0 ? this.stop() : this.#play()));
    root.replaceChildren(
      element(
        "div",
        { class: "queue-animation" },
        element(
          "div",
          { class: "lab-buttons" },
          this.#run,
          ...puts,
          button("Put event", () => this.#putEvent()),
          button("Get", () => this.#model.take(performance.now())),
          button("Empty", () => {
            this.#model = new QueueModel();
          }),
        ),
        queuePart("A plain queue", this.#shown.plain, this.#rows.plain),
        queuePart("The updatable queue", this.#shown.updatable, this.#rows.updatable),
        this.#log,
      ),
    );
    this.#draw();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) this.stop();
    else this.#play();
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
    this.#run.textContent = "Run";
  }

  #play(): void {
    this.#run.textContent = "Pause";
    const every = (milliseconds: number, act: () => void): number =>
      window.setInterval(() => {
        act();
        this.#draw();
      }, milliseconds);
    this.#timers = [
      every(PUT_MS, () => this.#putNext()),
      every(TAKE_MS, () => this.#model.take(performance.now())),
    ];
  }

  #putNext(): void {
    this.#puts += 1;
    if (this.#puts % (STATES_PER_EVENT + 1) === 0) this.#putEvent();
    else this.#putState(this.#puts % KEYS.length);
  }

  #putState(key: number): void {
    const answer = this.#model.putState(performance.now(), key);
    this.#say(`put state ${KEYS[key]}: ${answer}`);
  }

  #putEvent(): void {
    this.#say(`put event: ${this.#model.putEvent(performance.now())}`);
  }

  #say(text: string): void {
    const { replaced, refused } = this.#model;
    this.#log.textContent =
      `${text}. Replaced so far: ${replaced}. Refused because full: ` +
      `plain ${refused.plain}, updatable ${refused.updatable}.`;
  }

  #draw(): void {
    show(this.#rows.plain, this.#model.plain);
    show(this.#rows.updatable, this.#model.entries());
    this.#shown.plain.textContent = describe(this.#model.taken.plain);
    this.#shown.updatable.textContent = describe(this.#model.taken.updatable);
  }
}

function queuePart(title: string, shown: HTMLElement, row: HTMLElement): HTMLElement {
  return element("div", { class: "queue-part" }, element("strong", {}, title), shown, row);
}

function show(row: HTMLElement, entries: readonly QueueEntry<Value>[]): void {
  row.replaceChildren(
    ...entries.map(({ kind, value }) => {
      const key = kind === "event" ? "event" : value.text[0]!;
      return element("span", { class: `queue-entry queue-${key}` }, value.text);
    }),
  );
}

function describe(taken: Taken | undefined): string {
  if (taken === undefined) return "The receiver has nothing yet.";
  return `The receiver got ${taken.entry.value.text}, ${(taken.ageMs / 1_000).toFixed(1)} s after its put.`;
}
