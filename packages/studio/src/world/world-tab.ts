import type { Entity, Kind, Pose, Room } from "../api/types.js";
import type { Context, Tab } from "../context.js";
import { button, choice, make, setText } from "../dom.js";
import { Poll } from "../poll.js";
import { EntityPanel, sendCommands } from "./entity-panel.js";
import { EntityTree } from "./entity-tree.js";
import type { Relations } from "./overlay.js";
import type { RoomView } from "./room-view.js";
import { readSearch } from "./search.js";
import { StageBar } from "./stage-bar.js";
import { StatePanel } from "./state-panel.js";
import { WatchList } from "./watch-list.js";

const INTERVAL_MS = 1_000;
/** A search begins this long after the last key. */
const TYPING_MS = 200;

/** Rooms, their entities as a tree and as a picture, and all values. */
export class WorldTab implements Tab {
  readonly panel: HTMLElement;
  readonly #context: Context;
  readonly #tree: EntityTree;
  readonly #side = make("div", { class: "side" });
  readonly #about = make("p", { class: "muted about", role: "status" });
  readonly #stage = make("div", { class: "stage" });
  readonly #bar: StageBar;
  readonly #poll: Poll;
  readonly #search = make("input", {
    type: "search",
    "aria-label": "Search entities",
    placeholder: "Search: kind:ball tag:red #7",
    title: "Words, kind:NAME, tag:NAME, attribute:NAME=VALUE, near:x,y,z,radius, #ID",
    spellcheck: "false",
  });
  readonly #spawn = make("div", { class: "row" });
  #kinds: readonly Kind[] = [];
  #state: StatePanel;
  #entity: EntityPanel | undefined;
  #watches: WatchList | undefined;
  #selected: number | undefined;
  #view: RoomView | undefined;
  #room: string | undefined;
  /** The room whose picture is loaded. */
  #viewOf: string | undefined;
  #isShown = false;

  constructor(context: Context) {
    this.#context = context;
    const failed = (error: unknown) => void context.attempt(() => Promise.reject(error));
    this.#tree = new EntityTree(context.api, ({ id }) => this.#choose(id), failed);
    this.#state = new StatePanel(context);
    this.#bar = new StageBar(context.session.role === "editor", {
      layers: (layers) => this.#view?.showLayers(layers),
      gizmo: (mode) => {
        if (this.#view) this.#view.gizmo = mode;
      },
      frame: () => this.#selected !== undefined && this.#view?.frame(this.#selected),
      follow: (isOn) => this.#follow(isOn ? this.#selected : undefined),
    });
    this.#poll = new Poll(() => this.#update(), INTERVAL_MS, failed);
    let typing: ReturnType<typeof setTimeout> | undefined;
    this.#search.addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(() => this.#startSearch(), TYPING_MS);
    });
    this.panel = make(
      "div",
      { class: "world-tab" },
      make("div", { class: "tree" }, this.#search, this.#about, this.#tree.list.element, this.#spawn),
      this.#stage,
      this.#side,
    );
  }

  shown(): void {
    this.#isShown = true;
    if (this.#context.room !== this.#room) this.#open(this.#context.room);
    this.#view?.start();
    this.#watches?.start();
    this.#poll.start();
  }

  hidden(): void {
    this.#isShown = false;
    this.#poll.stop();
    this.#watches?.stop();
    this.#view?.stop();
  }

  #open(room: string | undefined): void {
    this.#room = room;
    this.#kinds = [];
    this.#view?.dispose();
    this.#view = undefined;
    this.#viewOf = undefined;
    this.#stage.replaceChildren();
    this.#watches?.stop();
    this.#watches =
      room === undefined ? undefined : new WatchList(this.#context, room, (id) => this.#choose(id));
    this.#state = new StatePanel(this.#context, (name) => this.#watches?.add({ name }));
    this.#select(undefined);
    this.#tree.setPlace(room === undefined ? undefined : { type: "room", room });
  }

  async #loadView(room: string): Promise<void> {
    const { RoomView } = await import("./room-view.js");
    if (this.#room !== room) return;
    const { api, session } = this.#context;
    const url = new URL(`../r/${encodeURIComponent(room)}`, window.location.href).href;
    try {
      this.#view = new RoomView(
        { url, token: api.token, canMove: session.role === "editor" },
        {
          picked: (id) => this.#select(id),
          moved: (id, pose) => this.#move(room, id, pose),
        },
      );
    } catch {
      this.#stage.replaceChildren(
        make("p", { class: "muted" }, "This browser has no WebGL, so there is no picture."),
      );
      return;
    }
    this.#stage.replaceChildren(this.#view.element, this.#bar.element, this.#bar.legend);
    this.#view.showLayers(this.#bar.layers);
    this.#tree.names = (player) => this.#view?.nameOf(player);
    if (this.#isShown) this.#view.start();
    if (this.#selected !== undefined) this.#view.select(this.#selected);
  }

  #startSearch(): void {
    if (this.#room === undefined) return;
    this.#tree.search(readSearch(this.#search.value));
    void this.#poll.now();
  }

  async #update(): Promise<void> {
    const { api, world } = this.#context;
    const room = this.#room;
    if (room === undefined) {
      setText(this.#about, "no room is open");
      return this.#showEmpty(world);
    }
    const about = await api.room(room);
    if (room !== this.#room) return;
    this.#showAbout(about);
    this.#tree.setKinds(about.kinds);
    await this.#tree.update();
    if (this.#entity) this.#view?.relate(relationsOf(await this.#entity.update()));
    else this.#state.show(await api.state({ type: "room", room }));
    // The picture comes after the first rows, because its code is large.
    if (this.#viewOf !== room) {
      this.#viewOf = room;
      void this.#loadView(room);
    }
  }

  /** A room opens when somebody enters it. */
  #showEmpty(world: string | undefined): void {
    if (this.#stage.childElementCount > 0) return;
    const enter =
      world === undefined ? undefined : make("a", { href: `../r/${encodeURIComponent(world)}` }, world);
    this.#stage.replaceChildren(
      make(
        "p",
        { class: "empty" },
        "A room opens when somebody enters it. ",
        enter ? "Enter the room " : "",
        enter,
        ".",
      ),
    );
  }

  #showAbout({ tick, entities, awake, version, kinds }: Room): void {
    const { found } = this.#tree;
    const count = found === undefined ? `${entities.toLocaleString("en")} entities` : `${found} found`;
    setText(this.#about, `${count}, ${awake} awake, step ${tick}, rules ${version}`);
    if (this.#kinds.length === kinds.length || this.#context.session.role !== "editor") return;
    this.#kinds = kinds;
    const chosen = choice(
      kinds.map(({ name }) => [name, name] as const),
      () => undefined,
      { "aria-label": "Kind to spawn" },
    );
    this.#spawn.replaceChildren(
      chosen,
      button("Spawn", () => this.#spawnKind(chosen.value)),
    );
  }

  async #spawnKind(kind: string): Promise<void> {
    const room = this.#room;
    if (room === undefined) return;
    await this.#context.attempt(async () => {
      const pose = { position: [0, 3, 0] as const };
      const id = await sendCommands(this.#context.api, room, [{ type: "spawn", kind, pose }]);
      this.#select(id);
      this.#context.say(`${kind} #${id} is above the origin`);
    });
    void this.#poll.now();
  }

  #move(room: string, id: number, pose: Pose): void {
    void this.#context.attempt(() =>
      sendCommands(this.#context.api, room, [{ type: "move", entity: id, pose }]),
    );
  }

  #follow(id: number | undefined): void {
    this.#view?.follow(id);
    this.#bar.following = id !== undefined;
  }

  /** Selects an entity of a list, which may be out of the picture. */
  #choose(id: number | undefined): void {
    this.#select(id);
    if (id !== undefined) this.#view?.frame(id);
  }

  #select(id: number | undefined): void {
    this.#selected = id;
    this.#tree.select(id);
    this.#view?.select(id);
    this.#bar.selected = id !== undefined;
    this.#follow(undefined);
    if (id === undefined || this.#room === undefined) {
      this.#entity = undefined;
      this.#showBeside(this.#state.element);
      return;
    }
    const place = { type: "room", room: this.#room } as const;
    const isEditor = this.#context.session.role === "editor";
    this.#entity = new EntityPanel(this.#context.api, place, id, isEditor, {
      select: (other) => this.#choose(other),
      problem: (error) => void this.#context.attempt(() => Promise.reject(error)),
      watch: (value) => this.#watches?.add(value),
      openCode: (file, line) => this.#context.openCode(file, line),
    });
    this.#showBeside(this.#entity.element);
    void this.#entity.update().then((entity) => this.#view?.relate(relationsOf(entity)));
  }

  #showBeside(panel: HTMLElement): void {
    this.#side.replaceChildren(...(this.#watches ? [this.#watches.element] : []), panel);
  }
}

function relationsOf(entity: Entity | undefined): Relations | undefined {
  if (!entity) return undefined;
  const { id, contacts, joints, parent, children } = entity;
  return {
    of: id,
    lines: [
      ...contacts.map((to) => ({ to, type: "contact" as const })),
      ...joints.map(({ other }) => ({ to: other, type: "joint" as const })),
      ...(parent === null ? [] : [{ to: parent, type: "parent" as const }]),
      ...children.map((to) => ({ to, type: "parent" as const })),
    ],
  };
}
