import type { State, Value } from "../api/types.js";
import type { Context } from "../context.js";
import { make, setText } from "../dom.js";
import { sendCommands } from "./entity-panel.js";
import { type SaveValue, ValueEditor, ValueMap } from "./value-editor.js";
import { WriterLine } from "./writer-line.js";

/** `world.state`, and each player with `private` and `saved`. */
export class StatePanel {
  readonly element = make("section", { class: "inspector", "aria-label": "State of the world" });
  readonly #facts = make("p", { class: "muted" });
  readonly #state: ValueMap;
  readonly #players = make("div");
  readonly #context: Context;
  readonly #maps = new Map<
    number,
    { readonly saved: ValueEditor; readonly details: HTMLElement; readonly facts: HTMLElement }
  >();

  /** `watch` watches a key of the state. */
  constructor(context: Context, watch?: (key: string) => void) {
    this.#context = context;
    this.#state = new ValueMap(
      (key) =>
        new ValueEditor(
          key,
          this.#saves((room, value) => sendCommands(context.api, room, [{ type: "set_state", key, value }])),
          this.#failed,
          watch && (() => watch(key)),
          watch && new WriterLine((file, line) => context.openCode(file, line), true),
        ),
    );
    this.element.append(
      make("h2", {}, "State"),
      this.#facts,
      this.#state.element,
      make("h3", {}, "Players"),
      this.#players,
    );
  }

  show({ tick, state, players, timers, keptBytes, writers }: State): void {
    this.#state.set(state);
    this.#state.showWriters(tick, writers);
    setText(this.#facts, `${Object.keys(state).length} keys, ${keptBytes} bytes kept, ${timers} timers`);
    for (const id of [...this.#maps.keys()]) {
      if (players.some((player) => player.id === id)) continue;
      this.#maps.get(id)!.details.remove();
      this.#maps.delete(id);
    }
    for (const player of players) {
      const row = this.#player(player.id, player.name);
      const about = [player.program ? "program" : "person", ...player.roles, ...player.tags];
      if (player.avatar !== null) about.push(`avatar #${player.avatar}`);
      setText(row.facts, about.join(", "));
      row.saved.set(player.saved?.value ?? null);
    }
  }

  #player(id: number, name: string) {
    const known = this.#maps.get(id);
    if (known) return known;
    const saved = new ValueEditor(
      "saved",
      this.#saves((room, value) =>
        sendCommands(this.#context.api, room, [{ type: "set_saved", player: id, value }]),
      ),
      this.#failed,
    );
    const facts = make("p", { class: "muted" });
    const details = make("details", {}, make("summary", {}, `${name} (${id})`), facts, saved.element);
    const row = { saved, details, facts };
    this.#maps.set(id, row);
    this.#players.append(details);
    return row;
  }

  #saves(send: (room: string, value: Value) => Promise<unknown>): SaveValue | undefined {
    const { room, session } = this.#context;
    if (session.role !== "editor" || room === undefined) return undefined;
    return (value) => send(room, value);
  }

  readonly #failed = (error: unknown): void => {
    void this.#context.attempt(() => Promise.reject(error));
  };
}
