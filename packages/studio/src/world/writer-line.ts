import type { Writer } from "../api/types.js";
import { button, make, setText } from "../dom.js";
import { stepsText } from "../value.js";

/** The newest writer of a value, as one line; hidden while no writer is known. */
export class WriterLine {
  readonly element: HTMLElement;
  readonly #cause = make("span");
  readonly #openCode: (file: string, line: number) => void;
  readonly #namesFunction: boolean;
  #place: HTMLElement | undefined;

  /** `namesFunction`: whether the line of a writer is the beginning of a function. */
  constructor(openCode: (file: string, line: number) => void, namesFunction: boolean) {
    this.#openCode = openCode;
    this.#namesFunction = namesFunction;
    this.element = make("p", { class: "writer", hidden: true }, this.#cause);
  }

  show(tick: number, writer: Writer | undefined | null): void {
    this.element.hidden = !writer;
    if (!writer) return;
    const { file, line } = writer;
    const place = file === null || line === null ? undefined : `${file}:${line}`;
    if (this.#place?.textContent !== place) {
      this.#place?.remove();
      this.#place = undefined;
      if (file !== null && line !== null) {
        const title = this.#namesFunction ? "Open the function that wrote the value" : "Open the line";
        this.#place = button(`${file}:${line}`, () => this.#openCode(file, line), { class: "link", title });
        this.element.prepend(this.#place);
      }
    }
    setText(
      this.#cause,
      `${place === undefined ? "" : " · "}${causeText(writer)} · ${ageText(tick - writer.tick)}`,
    );
  }
}

/** The call in which a value was written. */
function causeText({ hook, name, player }: Writer): string {
  const by = player === null ? "" : ` by ${player}`;
  if (hook === "edit") return "edit in the studio";
  if (hook === "owner") return `set${by}, the owner`;
  if (hook === "join" || hook === "leave") return `${hook} of ${player ?? "a player"}`;
  return `${hook}${name === null ? "" : ` “${name}”`}${by}`;
}

/** The first reading after an edit is of the step before it. */
function ageText(steps: number): string {
  return steps <= 0 ? "now" : `${stepsText(steps)} ago`;
}
