import { errorText, type StudioApi } from "./api/studio-api.js";
import type { Rooms, Session } from "./api/types.js";
import type { Context, Jumps, Tab } from "./context.js";
import { choice, make, setText } from "./dom.js";
import { Poll } from "./poll.js";
import { RoomLog } from "./room-log.js";
import { browserTexts } from "./storage.js";
import { makeThemeSwitch } from "./theme.js";

const ROOMS_INTERVAL_MS = 5_000;

/** A tab and the function that makes it. */
export interface TabEntry {
  readonly name: string;
  readonly label: string;
  readonly make: (context: Context) => Promise<Tab>;
}

/** The frame of the page: the choice of a room, the tabs, and the line for messages. */
export class Shell implements Context {
  readonly api: StudioApi;
  readonly session: Session;
  readonly log: RoomLog;
  readonly jumps: Jumps = { code: undefined, step: undefined };
  readonly #entries: readonly TabEntry[];
  readonly #tabs = new Map<string, Tab>();
  readonly #buttons = new Map<string, HTMLButtonElement>();
  readonly #body = make("main");
  readonly #message = make("p", { class: "message", role: "status", "aria-live": "polite" });
  readonly #facts = make("p", { class: "room-facts" });
  readonly #roomChoice = choice([], (name) => this.#choose(name), { "aria-label": "Room", id: "room" });
  readonly #fault = make("p", { class: "fault", role: "alert", hidden: true });
  #rooms: Rooms | undefined;
  #room: string | undefined;
  #current: string | undefined;

  constructor(api: StudioApi, session: Session, entries: readonly TabEntry[]) {
    this.api = api;
    this.session = session;
    this.#entries = entries;
    this.log = new RoomLog(api, (error) => this.#problem(error));
    this.#room = new URLSearchParams(window.location.search).get("room") ?? undefined;
  }

  get room(): string | undefined {
    return this.#room;
  }

  get world(): string | undefined {
    const shown = this.#rooms?.rooms.find(({ name }) => name === this.#room)?.world;
    return shown ?? this.#rooms?.worlds[0]?.name;
  }

  /** Builds the page in `root` and opens the tab of the address. */
  async open(root: HTMLElement): Promise<void> {
    const list = make("div", { class: "tabs", role: "tablist", "aria-label": "Studio" });
    for (const { name, label } of this.#entries) {
      const tab = make(
        "button",
        { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}` },
        label,
      );
      tab.addEventListener("click", () => void this.show(name));
      this.#buttons.set(name, tab);
      list.append(tab);
    }
    list.addEventListener("keydown", (event) => this.#tabKey(event));
    const header = make(
      "header",
      { class: "top" },
      make(
        "h1",
        { class: "brand" },
        make("a", { href: "/", title: "The page of this server" }, "Nowcast Studio"),
      ),
      list,
      make("label", { class: "room-choice" }, make("span", {}, "Room"), this.#roomChoice),
      make("span", { class: "role", title: "The role of your token" }, this.session.role),
      makeThemeSwitch(browserTexts),
    );
    const foot = make("footer", { class: "foot" }, this.#message, this.#facts);
    root.replaceChildren(header, this.#fault, this.#body, foot);
    const poll = new Poll(
      () => this.#readRooms(),
      ROOMS_INTERVAL_MS,
      (error) => this.#problem(error),
    );
    poll.start();
    await this.#readRooms().catch((error) => this.#problem(error));
    const asked = window.location.hash.slice(1);
    await this.show(this.#buttons.has(asked) ? asked : this.#entries[0]!.name);
  }

  async show(name: string): Promise<void> {
    if (this.#current === name) return;
    const earlier = this.#current;
    this.#current = name;
    window.history.replaceState(null, "", `#${name}`);
    for (const [other, tab] of this.#buttons) {
      tab.setAttribute("aria-selected", String(other === name));
      tab.tabIndex = other === name ? 0 : -1;
    }
    // On a phone the row of tabs is scrolled.
    this.#buttons.get(name)!.scrollIntoView({ block: "nearest", inline: "nearest" });
    if (earlier !== undefined) this.#tabs.get(earlier)?.hidden();
    for (const tab of this.#tabs.values()) tab.panel.hidden = true;
    const tab = await this.#tab(name);
    if (this.#current !== name) return;
    tab.panel.hidden = false;
    tab.shown();
  }

  say(text: string, type: "note" | "problem" = "note"): void {
    setText(this.#message, text);
    this.#message.classList.toggle("problem", type === "problem");
  }

  async attempt(run: () => Promise<unknown>): Promise<boolean> {
    try {
      await run();
      return true;
    } catch (error) {
      this.#problem(error);
      return false;
    }
  }

  openCode(file: string, line: number): void {
    void this.show("code").then(() => this.jumps.code?.(file, line));
  }

  openStep(tick: number): void {
    void this.show("time").then(() => this.jumps.step?.(tick));
  }

  async #tab(name: string): Promise<Tab> {
    const known = this.#tabs.get(name);
    if (known) return known;
    const tab = await this.#entries.find((entry) => entry.name === name)!.make(this);
    tab.panel.id = `panel-${name}`;
    tab.panel.classList.add("panel");
    tab.panel.setAttribute("role", "tabpanel");
    tab.panel.setAttribute("aria-labelledby", `tab-${name}`);
    tab.panel.hidden = true;
    this.#tabs.set(name, tab);
    this.#body.append(tab.panel);
    return tab;
  }

  async #readRooms(): Promise<void> {
    const rooms = await this.api.rooms();
    const isNew = JSON.stringify(rooms.rooms.map(({ name }) => name)) !== this.#namesShown();
    this.#rooms = rooms;
    if (isNew) {
      this.#roomChoice.replaceChildren(
        ...rooms.rooms.map(({ name, world }) =>
          make("option", { value: name }, name === world ? name : `${name} (${world})`),
        ),
      );
    }
    const room = rooms.rooms.find(({ name }) => name === this.#room);
    setText(this.#facts, room ? `${room.players} of ${room.playersMax} players` : "");
    const isOpen = room !== undefined;
    if (!isOpen) this.#choose(rooms.rooms[0]?.name);
    else this.#roomChoice.value = this.#room!;
    const fault = rooms.worlds.find(({ name }) => name === this.world)?.fault ?? null;
    this.#fault.hidden = fault === null;
    setText(this.#fault, fault ?? "");
  }

  #namesShown(): string {
    return JSON.stringify([...this.#roomChoice.options].map(({ value }) => value));
  }

  #choose(name: string | undefined): void {
    if (name === this.#room && this.#roomChoice.value === (name ?? "")) return;
    this.#room = name;
    this.log.open(name);
    if (name !== undefined) {
      this.#roomChoice.value = name;
      const { hash } = window.location;
      window.history.replaceState(null, "", `?room=${encodeURIComponent(name)}${hash}`);
    }
    if (this.#current !== undefined) this.#tabs.get(this.#current)?.shown();
  }

  #tabKey(event: KeyboardEvent): void {
    const names = this.#entries.map(({ name }) => name);
    const at = names.indexOf(this.#current ?? names[0]!);
    const to: Record<string, number> = {
      ArrowRight: (at + 1) % names.length,
      ArrowLeft: (at + names.length - 1) % names.length,
      Home: 0,
      End: names.length - 1,
    };
    const next = names[to[event.key] ?? -1];
    if (next === undefined) return;
    event.preventDefault();
    this.#buttons.get(next)!.focus();
    void this.show(next);
  }

  #problem(error: unknown): void {
    this.say(errorText(error), "problem");
  }
}
