import { errorText, type Place, StudioError } from "../api/studio-api.js";
import type { Value, Writer } from "../api/types.js";
import type { Context } from "../context.js";
import { button, make, setText } from "../dom.js";
import { Poll } from "../poll.js";
import { shortText, valueText } from "../value.js";
import { WriterLine } from "./writer-line.js";

const INTERVAL_MS = 250;
/** The interval after a failed reading, for example because the server limits the requests of an address. */
const RETRY_MS = 1000;
/** Maximum watched values. Each reading may take one request per watched value. */
const WATCHED_MAX = 6;
/** Maximum values that are listed for one watched value. */
const VALUES_MAX = 8;

/** An attribute of an entity, or a key of `world.state`. */
export interface WatchedValue {
  readonly name: string;
  readonly entity?: { readonly id: number; readonly kind: string } | undefined;
}

/** The newest and the last values of chosen attributes and keys of a room, with the step at which each was first read. */
export class WatchList {
  readonly element = make("section", { class: "watches", "aria-label": "Watched values", hidden: true });
  readonly #context: Context;
  readonly #place: Place;
  readonly #select: (id: number) => void;
  readonly #watches: Watch[] = [];
  readonly #poll: Poll;

  /** `select` shows the entity of a watched attribute. */
  constructor(context: Context, room: string, select: (id: number) => void) {
    this.#context = context;
    this.#place = { type: "room", room };
    this.#select = select;
    this.#poll = new Poll(() => this.#read(), INTERVAL_MS);
    this.element.append(make("h2", {}, "Watched"));
  }

  /** Reads the values from now on, if there are any. */
  start(): void {
    if (this.#watches.length > 0) this.#poll.start();
  }

  stop(): void {
    this.#poll.stop();
  }

  /** Watches a value, unless it is watched already. */
  add({ name, entity }: WatchedValue): void {
    if (this.#watches.some((watch) => watch.name === name && watch.id === entity?.id)) return;
    if (this.#watches.length >= WATCHED_MAX) {
      this.#context.say(
        `${WATCHED_MAX} values are watched, which is the limit. Remove one first.`,
        "problem",
      );
      return;
    }
    const watch = new Watch(name, entity, {
      select: this.#select,
      openStep: (tick) => this.#context.openStep(tick),
      openCode: (file, line) => this.#context.openCode(file, line),
      remove: () => this.#remove(watch),
    });
    this.#watches.push(watch);
    this.element.append(watch.element);
    this.element.hidden = false;
    this.#poll.start();
  }

  #remove(watch: Watch): void {
    this.#watches.splice(this.#watches.indexOf(watch), 1);
    watch.element.remove();
    this.element.hidden = this.#watches.length === 0;
    if (this.element.hidden) this.stop();
  }

  /** Reads each existing entity once, and the state once. */
  async #read(): Promise<void> {
    const present = this.#watches.filter((watch) => !watch.isGone);
    this.#poll.intervalMs = INTERVAL_MS;
    for (const id of new Set(present.map((watch) => watch.id))) {
      const watches = present.filter((watch) => watch.id === id);
      try {
        const { tick, values, writers } = await this.#valuesOf(id);
        for (const watch of watches) {
          watch.record(tick, values[watch.name] ?? null, writers?.[watch.name]);
        }
      } catch (error) {
        this.#poll.intervalMs = RETRY_MS;
        for (const watch of watches) watch.fail(error);
      }
    }
  }

  async #valuesOf(id: number | undefined): Promise<Reading> {
    const { api } = this.#context;
    if (id === undefined) {
      const { tick, state, writers } = await api.state(this.#place);
      return { tick, values: state, writers };
    }
    const { tick, attributes, writers } = await api.entity(this.#place, id);
    return { tick, values: attributes, writers: writers?.attributes };
  }
}

interface Reading {
  readonly tick: number;
  readonly values: { readonly [name: string]: Value };
  readonly writers: { readonly [name: string]: Writer } | undefined;
}

interface WatchListener {
  select(id: number): void;
  openStep(tick: number): void;
  openCode(file: string, line: number): void;
  remove(): void;
}

/** One watched value. */
class Watch {
  readonly element: HTMLElement;
  readonly name: string;
  /** The entity of an attribute; `undefined` for a key of the state. */
  readonly id: number | undefined;
  readonly #listener: WatchListener;
  readonly #now = make("span", { class: "value" });
  readonly #values = make("ol");
  readonly #writer: WriterLine;
  #newest: string | undefined;
  /** Whether the entity was despawned. */
  isGone = false;

  constructor(name: string, entity: WatchedValue["entity"], listener: WatchListener) {
    this.name = name;
    this.id = entity?.id;
    this.#listener = listener;
    this.#writer = new WriterLine((file, line) => listener.openCode(file, line), entity === undefined);
    const owner = entity
      ? button(`${entity.kind} #${entity.id}`, () => listener.select(entity.id), { class: "link" })
      : make("span", {}, "state");
    const remove = button("Remove", () => listener.remove(), {
      class: "quiet",
      "aria-label": `Stop watching ${name}`,
    });
    const label = `${entity ? `${entity.kind} #${entity.id}` : "state"} ${name}`;
    this.element = make(
      "div",
      { class: "watch", role: "group", "aria-label": label },
      make("header", {}, owner, make("b", {}, name), this.#now, remove),
      this.#writer.element,
      this.#values,
    );
  }

  /** Lists a value that differs from the newest one. */
  record(tick: number, value: Value, writer: Writer | undefined): void {
    const text = valueText(value);
    if (text !== this.#newest) {
      this.#newest = text;
      const open = button(`step ${tick}`, () => this.#listener.openStep(tick), { class: "link" });
      this.#values.prepend(make("li", {}, open, make("span", {}, shortText(value))));
      while (this.#values.childElementCount > VALUES_MAX) this.#values.lastElementChild?.remove();
    }
    setText(this.#now, shortText(value));
    this.#writer.show(tick, writer);
  }

  /** Shows why there is no value, for example because the entity was despawned. */
  fail(error: unknown): void {
    this.isGone = this.id !== undefined && error instanceof StudioError && error.code === "not_found";
    setText(this.#now, errorText(error));
  }
}
