import type { History, Moment, Replay } from "../api/types.js";
import type { Context, Tab } from "../context.js";
import { button, make, setText } from "../dom.js";
import { Poll } from "../poll.js";
import { stepsText } from "../value.js";
import { EntityPanel } from "../world/entity-panel.js";
import { EntityTree } from "../world/entity-tree.js";
import { ValueEditor, ValueMap } from "../world/value-editor.js";
import { showDifferences } from "./differences-view.js";
import { MomentCard } from "./moment-card.js";

const HISTORY_INTERVAL_MS = 3_000;
const STEPS_PER_SECOND = 60;

/** The recorded history of a room: moments in it, their entities, differences, and replays with other rules. */
export class TimeTab implements Tab {
  readonly panel = make("div", { class: "sheet time-tab" });
  readonly #context: Context;
  readonly #slider = make("input", {
    type: "range",
    "aria-label": "Step of the history",
    step: "1",
    disabled: true,
  });
  readonly #at = make("output");
  readonly #from = make("span");
  readonly #to = make("span");
  readonly #cards = make("div", { class: "cards" });
  readonly #shown = make("div", { class: "moment-view" });
  readonly #result = make("section", { "aria-label": "Result" });
  readonly #moments = new Map<string, MomentCard>();
  readonly #poll: Poll;
  #history: History | undefined;
  #current: string | undefined;
  #room: string | undefined;

  constructor(context: Context) {
    this.#context = context;
    context.jumps.step = (tick) => void this.#open({ step: tick });
    this.#poll = new Poll(
      () => this.#update(),
      HISTORY_INTERVAL_MS,
      (error) => void context.attempt(() => Promise.reject(error)),
    );
    this.#slider.addEventListener("input", () => this.#showChosen());
    const ago = (seconds: number, label: string) => button(label, () => this.#open({ secondsAgo: seconds }));
    this.panel.append(
      make(
        "section",
        {},
        make("h2", {}, "History"),
        make(
          "div",
          { class: "timeline" },
          this.#slider,
          make("div", { class: "ends" }, this.#from, this.#at, this.#to),
        ),
        make(
          "div",
          { class: "row" },
          button("Open this step", () => this.#open({ step: this.#slider.valueAsNumber }), {
            class: "primary",
          }),
          ago(1, "1 s ago"),
          ago(10, "10 s ago"),
          ago(60, "1 min ago"),
        ),
      ),
      make("section", {}, make("h2", {}, "Moments"), this.#cards),
      this.#result,
      this.#shown,
    );
  }

  shown(): void {
    if (this.#context.room !== this.#room) {
      this.#room = this.#context.room;
      this.#history = undefined;
      this.#current = undefined;
      this.#moments.clear();
      this.#cards.replaceChildren();
      this.#result.replaceChildren();
      this.#shown.replaceChildren();
    }
    this.#poll.start();
    void this.#poll.now();
  }

  hidden(): void {
    this.#poll.stop();
  }

  async #update(): Promise<void> {
    const { api } = this.#context;
    const room = this.#room;
    if (room === undefined) return;
    const [history, moments] = await Promise.all([api.history(room), api.moments()]);
    if (room !== this.#room) return;
    this.#showHistory(history);
    const own = moments.filter((moment) => moment.room === room);
    for (const [id, card] of this.#moments) {
      if (own.some((moment) => moment.id === id)) continue;
      card.element.remove();
      this.#moments.delete(id);
    }
    for (const moment of own) this.#add(moment);
  }

  #showHistory(history: History): void {
    const { from, to } = history;
    const isFirst = this.#history?.to === undefined || this.#history.to === null;
    this.#history = history;
    this.#slider.disabled = from === null || to === null;
    if (from === null || to === null) {
      setText(
        this.#at,
        history.stored ? "no step is stored yet" : "this room is not stored: start the server with --data",
      );
      return;
    }
    // A slider at its end stays there.
    const isAtEnd = isFirst || this.#slider.value === this.#slider.max;
    this.#slider.min = String(from.tick);
    this.#slider.max = String(to.tick);
    if (isAtEnd) this.#slider.value = this.#slider.max;
    setText(this.#from, new Date(from.timeMs).toLocaleTimeString());
    setText(this.#to, new Date(to.timeMs).toLocaleTimeString());
    this.#showChosen();
  }

  #showChosen(): void {
    const to = this.#history?.to;
    if (!to) return;
    const step = this.#slider.valueAsNumber;
    const text = step >= to.tick ? `step ${step}, now` : `step ${step}, ${stepsText(to.tick - step)} ago`;
    setText(this.#at, text);
    this.#slider.setAttribute("aria-valuetext", text);
  }

  async #open(at: { readonly step: number } | { readonly secondsAgo: number }): Promise<void> {
    const room = this.#room;
    if (room === undefined) return;
    await this.#context.attempt(async () => {
      const moment = await this.#context.api.openMoment(room, at);
      this.#add(moment);
      this.#show(moment.id);
      this.#context.say(`the moment at step ${moment.tick} is open`);
    });
  }

  #add(moment: Moment): void {
    const known = this.#moments.get(moment.id);
    if (known) return known.update(moment);
    const { id } = moment;
    const card = new MomentCard(moment, this.#context.session.role === "editor", {
      show: () => this.#show(id),
      step: (steps) => this.#step(id, steps),
      compare: () => this.#compare(id),
      replay: (rules, seconds) => this.#replay(id, rules, seconds),
      saveTest: (name) => this.#saveTest(id, name),
      close: () => this.#close(id),
    });
    this.#moments.set(id, card);
    // The newest moment is the first.
    this.#cards.prepend(card.element);
  }

  #show(id: string): void {
    this.#current = id;
    for (const [other, card] of this.#moments) card.isCurrent = other === id;
    const { api } = this.#context;
    const place = { type: "moment", moment: id } as const;
    const problem = (error: unknown) => void this.#context.attempt(() => Promise.reject(error));
    const side = make("div", { class: "side" });
    const select = (entity: number | undefined): void => {
      tree.select(entity);
      if (entity === undefined) return void this.#showState(id, side);
      const panel = new EntityPanel(api, place, entity, false, { select, problem });
      side.replaceChildren(panel.element);
      void panel.update();
    };
    const tree = new EntityTree(api, ({ id: entity }) => select(entity), problem);
    tree.setPlace(place);
    tree.search({});
    const search = make("div", { class: "tree" }, tree.list.element);
    const title = make("h2", {}, `Entities at step ${this.#moments.get(id)?.moment.tick ?? ""}`);
    this.#shown.replaceChildren(title, make("div", { class: "moment-columns" }, search, side));
    void this.#showState(id, side);
  }

  async #showState(id: string, side: HTMLElement): Promise<void> {
    await this.#context.attempt(async () => {
      const { state } = await this.#context.api.state({ type: "moment", moment: id });
      const values = new ValueMap((name) => new ValueEditor(name, undefined, () => undefined));
      values.set(state);
      const empty = values.size === 0 ? make("p", { class: "muted" }, "The state is empty.") : undefined;
      side.replaceChildren(make("h3", {}, "State"), values.element, empty ?? "");
    });
  }

  async #step(id: string, steps: number): Promise<void> {
    await this.#context.attempt(async () => {
      this.#add(await this.#context.api.stepMoment(id, steps));
      if (this.#current === id) this.#show(id);
    });
  }

  async #compare(id: string): Promise<void> {
    const other = this.#current;
    if (other === undefined || other === id) {
      this.#context.say("show one moment, then compare another with it", "problem");
      return;
    }
    await this.#context.attempt(async () => {
      const differences = await this.#context.api.compare(other, id);
      this.#showResult(showDifferences(differences, [this.#nameOf(other), this.#nameOf(id)]));
    });
  }

  async #replay(id: string, rules: "current" | "recorded", seconds: number): Promise<void> {
    const card = this.#moments.get(id);
    if (!card || !(seconds > 0)) return;
    const { tick, through } = card.moment;
    const until = Math.min(tick + Math.round(seconds * STEPS_PER_SECOND), through);
    await this.#context.attempt(async () => {
      this.#showResult(showReplay(await this.#context.api.replay(id, rules, until), rules, this.#context));
    });
  }

  async #saveTest(id: string, name: string): Promise<void> {
    await this.#context.attempt(async () => {
      const { test, moment } = await this.#context.api.saveTest(id, name);
      this.#context.say(`saved ${test}, which restores ${moment}`);
    });
  }

  async #close(id: string): Promise<void> {
    await this.#context.attempt(() => this.#context.api.closeMoment(id));
    if (this.#current === id) this.#shown.replaceChildren();
    if (this.#current === id) this.#current = undefined;
    void this.#poll.now();
  }

  #nameOf(id: string): string {
    return `step ${this.#moments.get(id)?.moment.tick ?? "?"}`;
  }

  #showResult(result: HTMLElement): void {
    this.#result.replaceChildren(make("h2", {}, "Result"), result);
    result.scrollIntoView({ block: "nearest" });
  }
}

/** The outcome of a replay: errors at their lines, printed lines, and the differences from the recorded world. */
function showReplay(replay: Replay, rules: "current" | "recorded", context: Context): HTMLElement {
  const { from, until, reached, exact, errors, printed, differences } = replay;
  const which = rules === "current" ? "today's rules" : "the recorded rules";
  const early = reached < until ? `, ended at step ${reached}` : "";
  const summary = `Steps ${from} to ${until} with ${which}: ${errors.length} errors${early}${exact ? ", exact" : ""}`;
  return make(
    "div",
    { class: "card" },
    make("p", { role: "status" }, summary),
    ...errors.map(({ tick, file, line, message }) =>
      file && line
        ? button(`step ${tick}, ${file}:${line} ${message}`, () => context.openCode(file, line), {
            class: "danger",
          })
        : make("p", { class: "error" }, `step ${tick}: ${message}`),
    ),
    printed.length > 0 ? make("pre", {}, printed.slice(-50).join("\n")) : undefined,
    showDifferences(differences, ["recorded", "replayed"]),
  );
}
