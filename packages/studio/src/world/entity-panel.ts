import type { Place } from "../api/studio-api.js";
import { errorText, type StudioApi } from "../api/studio-api.js";
import type { Command, Entity, Value, Vector } from "../api/types.js";
import { button, make, setText } from "../dom.js";
import { vectorText } from "../value.js";
import { type SaveValue, ValueEditor, ValueMap } from "./value-editor.js";
import type { WatchedValue } from "./watch-list.js";
import { WriterLine } from "./writer-line.js";

export interface EntityPanelListener {
  /** Shows another entity. */
  select(id: number | undefined): void;
  problem(error: unknown): void;
  /** Watches an attribute. */
  watch?(value: WatchedValue): void;
  /** Opens the place at which a value was written. */
  openCode?(file: string, line: number): void;
}

/** Sends commands to a room; the first refusal becomes an error. */
export async function sendCommands(
  api: StudioApi,
  room: string,
  commands: readonly Command[],
): Promise<number | undefined> {
  const { results } = await api.command(room, commands);
  const refused = results.find(({ ok }) => !ok);
  if (refused) throw new Error(refused.message ?? "the world refused the command");
  return results[0]?.id;
}

/** One entity with all its values. Editors can change a room's values, but not a moment's. */
export class EntityPanel {
  readonly element = make("section", { class: "inspector", "aria-label": "Entity" });
  readonly #api: StudioApi;
  readonly #place: Place;
  readonly #id: number;
  readonly #listener: EntityPanelListener;
  readonly #position: ValueEditor;
  readonly #attributes: ValueMap;
  readonly #private: ValueEditor;
  readonly #facts = make("dl", { class: "facts" });
  readonly #links = make("div", { class: "links" });
  readonly #title = make("h2");
  readonly #tags = make("p", { class: "tags" });
  #linksShown = "";
  #kind = "";

  constructor(api: StudioApi, place: Place, id: number, isEditor: boolean, listener: EntityPanelListener) {
    this.#api = api;
    this.#place = place;
    this.#id = id;
    this.#listener = listener;
    const failed = (error: unknown) => listener.problem(error);
    const saves = (command: (value: Value) => Command): SaveValue | undefined => {
      if (place.type !== "room" || !isEditor) return undefined;
      return (value) => sendCommands(api, place.room, [command(value)]);
    };
    const { openCode } = listener;
    const writer = (namesFunction: boolean) => openCode && new WriterLine(openCode, namesFunction);
    const position = (value: Value): Command => ({
      type: "move",
      entity: id,
      pose: { position: readPosition(value) },
    });
    this.#position = new ValueEditor("position", saves(position), failed);
    this.#attributes = new ValueMap(
      (name) =>
        new ValueEditor(
          name,
          saves((value) => ({ type: "set_attribute", entity: id, name, value })),
          failed,
          listener.watch && (() => listener.watch?.({ name, entity: { id, kind: this.#kind } })),
          writer(false),
        ),
    );
    this.#private = new ValueEditor(
      "private",
      saves((value) => ({ type: "set_private", entity: id, value })),
      failed,
      undefined,
      writer(true),
    );
    const actions = make("div", { class: "row actions" });
    if (place.type === "room" && isEditor) {
      actions.append(button("Despawn", () => this.#despawn(place.room), { class: "danger" }));
    }
    this.element.append(
      make(
        "header",
        {},
        this.#title,
        actions,
        button("Close", () => listener.select(undefined), { class: "quiet" }),
      ),
      this.#tags,
      this.#position.element,
      make("h3", {}, "Attributes"),
      this.#attributes.element,
      this.#private.element,
      make("h3", {}, "Body and relations"),
      this.#facts,
      this.#links,
    );
  }

  /** Reads the entity again. */
  async update(): Promise<Entity | undefined> {
    try {
      const entity = await this.#api.entity(this.#place, this.#id);
      this.#show(entity);
      return entity;
    } catch (error) {
      setText(this.#title, `#${this.#id}`);
      setText(this.#tags, errorText(error));
      return undefined;
    }
  }

  #show(entity: Entity): void {
    this.#kind = entity.kind;
    setText(this.#title, `${entity.kind} #${entity.id}`);
    const tags = entity.tags.map((tag) => make("span", { class: "tag" }, tag));
    if (this.#tags.textContent !== entity.tags.join("")) this.#tags.replaceChildren(...tags);
    this.#position.set(entity.pose.position.map((metres) => +metres.toFixed(3)));
    this.#attributes.set(entity.attributes);
    this.#private.set(entity.private);
    this.#attributes.showWriters(entity.tick, entity.writers?.attributes);
    this.#private.showWriter(entity.tick, entity.writers?.private);
    this.#showFacts(entity);
    this.#showLinks(entity);
  }

  #showFacts({ body, velocity, owner, player, changedTick, tick, contacts }: Entity): void {
    const facts: [string, string][] = [
      ["velocity", `${vectorText(velocity.linear)} m/s`],
      ["spin", `${vectorText(velocity.angular)} rad/s`],
      ["changed", `${Math.max(0, tick - changedTick)} steps ago`],
    ];
    if (body) {
      const state = `${body.asleep ? "asleep" : "awake"}${body.onGround ? ", on the ground" : ""}`;
      const mass = body.mass === null ? "" : `, ${body.mass.toFixed(1)} kg`;
      const parts = body.parts === 1 ? "" : `, ${body.parts} parts`;
      facts.unshift(["body", `${body.motion}, ${state}${mass}${parts}`]);
    }
    if (owner !== null) facts.push(["owner", `player ${owner}`]);
    if (player !== null) facts.push(["avatar of", `player ${player}`]);
    facts.push(["contacts", String(contacts.length)]);
    // The terms rarely change, so that the elements are kept.
    if (this.#facts.childElementCount !== facts.length * 2) {
      this.#facts.replaceChildren(...facts.flatMap(() => [make("dt"), make("dd")]));
    }
    for (const [index, [term, text]] of facts.entries()) {
      setText(this.#facts.children[index * 2]!, term);
      setText(this.#facts.children[index * 2 + 1]!, text);
    }
  }

  #showLinks({ parent, children, contacts, joints }: Entity): void {
    const groups: [string, readonly number[]][] = [
      ["parent", parent === null ? [] : [parent]],
      ["children", children.slice(0, 20)],
      ["touches", contacts.slice(0, 20)],
      ["joined to", joints.slice(0, 20).map(({ other }) => other)],
    ];
    const shown = JSON.stringify(groups);
    if (shown === this.#linksShown) return;
    this.#linksShown = shown;
    const rows = groups
      .filter(([, ids]) => ids.length > 0)
      .map(([name, ids]) =>
        make(
          "p",
          {},
          `${name} `,
          ...ids.map((id) => button(`#${id}`, () => this.#listener.select(id), { class: "link" })),
        ),
      );
    this.#links.replaceChildren(...rows);
  }

  async #despawn(room: string): Promise<void> {
    try {
      await sendCommands(this.#api, room, [{ type: "despawn", entity: this.#id }]);
      this.#listener.select(undefined);
    } catch (error) {
      this.#listener.problem(error);
    }
  }
}

function readPosition(value: Value): Vector {
  if (Array.isArray(value) && value.length === 3 && value.every((part) => Number.isFinite(part))) {
    return value as unknown as Vector;
  }
  throw new Error("a position is a list of three numbers, such as [0, 1, 0]");
}
