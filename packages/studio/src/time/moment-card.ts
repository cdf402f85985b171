import type { Moment } from "../api/types.js";
import { button, field, make, setText } from "../dom.js";
import { stepsText } from "../value.js";

export interface MomentActions {
  show(): unknown;
  step(steps: number): unknown;
  compare(): unknown;
  replay(rules: "current" | "recorded", seconds: number): unknown;
  saveTest(name: string): unknown;
  close(): unknown;
}

/** A paused copy of a room at one step, with everything that can be done with it. */
export class MomentCard {
  readonly element: HTMLElement;
  moment: Moment;
  readonly #title = make("b");
  readonly #about = make("span", { class: "muted" });

  constructor(moment: Moment, isEditor: boolean, actions: MomentActions) {
    this.moment = moment;
    const seconds = make("input", { type: "number", min: "1", max: "300", value: "5", step: "1" });
    const name = make("input", {
      pattern: "[a-z0-9_\\-]{1,48}",
      placeholder: "name-of-the-test",
      spellcheck: "false",
      autocapitalize: "off",
    });
    const steps = [-600, -60, -1, 1, 60, 600].map((count) => {
      const size = Math.abs(count);
      const label = `${count > 0 ? "+" : "−"}${size < 60 ? `${size} step` : `${size / 60} s`}`;
      return button(label, () => actions.step(count));
    });
    const more = make(
      "details",
      {},
      make("summary", {}, "Replay and test"),
      make(
        "div",
        { class: "row" },
        field("Seconds", seconds),
        button("Replay with today's rules", () => actions.replay("current", seconds.valueAsNumber)),
        button("Replay with the recorded rules", () => actions.replay("recorded", seconds.valueAsNumber)),
      ),
      isEditor
        ? make(
            "div",
            { class: "row" },
            field("Name", name, "a-z, 0-9, - and _"),
            button("Save as a test", () => actions.saveTest(name.value)),
          )
        : undefined,
    );
    this.element = make(
      "article",
      { class: "card moment", "aria-label": `Moment at step ${moment.tick}` },
      make("div", { class: "row" }, this.#title, this.#about),
      make("div", { class: "row", role: "group", "aria-label": "Step" }, ...steps),
      make(
        "div",
        { class: "row" },
        button("Show", () => actions.show()),
        button("Compare with the shown moment", () => actions.compare()),
        button("Close", () => actions.close(), { class: "quiet" }),
      ),
      more,
    );
    this.update(moment);
  }

  update(moment: Moment): void {
    this.moment = moment;
    setText(this.#title, `step ${moment.tick}`);
    const back = moment.through - moment.tick;
    const exact = moment.exact ? "exact" : "not exact: the recorded hashes differ";
    setText(this.#about, `${exact}; ${stepsText(back)} of recorded steps follow`);
    this.element.setAttribute("aria-label", `Moment at step ${moment.tick}`);
  }

  set isCurrent(isCurrent: boolean) {
    this.element.setAttribute("aria-current", String(isCurrent));
  }
}
