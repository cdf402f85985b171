import { copyText, isConverting, titleOf } from "@nowcast/page/internal";
import type { WorldListing } from "nowcast/internal";
import { privateRoom } from "nowcast/world";
import { element } from "../dom.js";
import { shareAddress } from "../page-address.js";
import { words } from "../words.js";
import { StartPad } from "./start-pad.js";
import { WorldShelf } from "./world-shelf.js";
import { fetchWorlds } from "./worlds.js";

/**
 * Maximum time for which the card waits for the list of worlds. It waits so that its layout does not change
 * when the list arrives.
 */
const LIST_MS_MAX = 3_000;

/** A longer name leaves no space for a word that cannot be guessed. A room of an unknown name shows the first world. */
const WORLD_CHARACTERS_MAX = 24;

/** Asks the user for a name and a room. */
export class StartScreen {
  readonly #screen = element("start", HTMLElement);
  readonly #name = element("name", HTMLInputElement);
  readonly #room = element("room", HTMLInputElement);
  readonly #link = element("share-link", HTMLAnchorElement);
  readonly #note = element("start-note", HTMLElement);

  readonly #shelf = new WorldShelf(element("worlds", HTMLElement), this.#screen, (world) =>
    this.#enter(world),
  );
  readonly #pad: StartPad;
  /** The names of the worlds that the server offers. */
  #offered: readonly string[] = [];
  /** Whether the page shows the screen for the first time. */
  #isFirst = true;
  /** Whether no room was named yet. The screen then offers the room of the first world. */
  #isUnnamed = false;
  readonly #onEnter: (name: string, room: string) => void;

  constructor(onEnter: (name: string, room: string) => void) {
    this.#onEnter = onEnter;
    this.#room.addEventListener("input", () => {
      this.#isUnnamed = false;
      this.#room.value = this.#room.value.toLowerCase().replaceAll(" ", "-");
      this.#writeLink();
    });
    element("share-copy", HTMLButtonElement).addEventListener("click", async (event) => {
      const button = event.currentTarget as HTMLButtonElement;
      button.textContent = (await copyText(this.#link.href)) ? words.copied : words.copyByHand;
    });
    element("room-private", HTMLButtonElement).addEventListener("click", () => this.#makePrivate());
    const form = element("enter-form", HTMLFormElement);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#enter(this.#room.value);
    });
    form.addEventListener("keydown", (event) => {
      if (isConverting(event) && event.key === "Enter") event.preventDefault();
    });
    // Before, the browser would have sent the form to the server.
    const button = element("enter", HTMLButtonElement);
    button.disabled = false;
    this.#pad = new StartPad({
      enter: () => this.#shelf.press() || form.requestSubmit(),
      move: (code) => {
        if (!this.#shelf.move(code) && code === "ArrowUp") button.focus();
      },
    });
  }

  /**
   * Opens the start screen. Without a room, it offers the server's first world. `note` describes a problem
   * with the address, if there is one.
   */
  show(name: string, room: string | undefined, note = ""): void {
    // The user may have begun to type before this script had arrived.
    const typed = this.#isFirst ? this.#name.value : "";
    this.#name.value = typed || name || words.suggestName();
    this.#isUnnamed = room === undefined;
    this.#room.value = room ?? "";
    this.#writeLink();
    this.#note.textContent = note;
    this.#note.hidden = note === "";
    this.#screen.hidden = false;
    this.#screen.classList.remove("leaving");
    this.#pad.open();
    const reveal = window.setTimeout(() => this.#reveal(typed === ""), LIST_MS_MAX);
    void fetchWorlds().then((worlds) => {
      window.clearTimeout(reveal);
      this.#list(worlds);
      this.#reveal(typed === "");
      if (this.#takeEarlyEnter()) element("enter-form", HTMLFormElement).requestSubmit();
    });
  }

  /** Offers a private room of the chosen world. The link is its invitation. */
  #makePrivate(): void {
    const [name = ""] = this.#room.value.split("--");
    const isRoomOf = (world: string): boolean => name === world || name.startsWith(`${world}-`);
    const [offered] = this.#offered.filter(isRoomOf).sort((a, b) => b.length - a.length);
    const world = offered ?? (name.slice(0, WORLD_CHARACTERS_MAX) || this.#offered[0]);
    if (world === undefined) return void this.#room.reportValidity();
    const fits = world.length <= WORLD_CHARACTERS_MAX;
    if (fits) {
      this.#isUnnamed = false;
      this.#room.value = privateRoom(world);
      this.#writeLink();
    }
    this.#note.textContent = fits ? words.isPrivate : words.cannotBePrivate;
    this.#note.hidden = false;
  }

  /** Whether Enter was pressed before this script had arrived; see `public/early.js`. */
  #takeEarlyEnter(): boolean {
    const isEntered = this.#isFirst && document.documentElement.dataset["entered"] !== undefined;
    this.#isFirst = false;
    return isEntered && this.#screen.classList.contains("ready");
  }

  #reveal(selectsName: boolean): void {
    if (this.#screen.classList.contains("ready") || this.#screen.classList.contains("leaving")) return;
    this.#screen.classList.add("ready");
    // The field does not keep the focus on touch screens, because the on-screen keyboard would open and hide
    // the page.
    if (window.matchMedia("(pointer: coarse)").matches) return this.#name.blur();
    this.#name.focus({ preventScroll: true });
    if (selectsName) this.#name.select();
  }

  hide(): void {
    this.#pad.close();
    this.#screen.classList.remove("ready");
    this.#screen.classList.add("leaving");
    window.setTimeout(() => {
      if (this.#screen.classList.contains("leaving")) this.#screen.hidden = true;
    }, 500);
  }

  /** Enters without the start screen: an Enter in the world does not enter later. */
  skip(): void {
    this.#isFirst = false;
    this.#screen.hidden = true;
  }

  #enter(room: string): void {
    this.hide();
    this.#onEnter(this.#name.value.trim(), room);
  }

  /** Shows the worlds, each of which enters the room of its name. */
  #list(worlds: readonly WorldListing[]): void {
    this.#offered = worlds.map(({ name }) => name);
    const [first] = worlds;
    if (this.#isUnnamed && first) {
      this.#room.value = first.name;
      this.#writeLink();
    }
    this.#shelf.show(worlds);
  }

  #writeLink(): void {
    const address = shareAddress(window.location, this.#room.value);
    this.#link.href = address;
    this.#link.textContent = address.replace(/^https?:\/\//, "");
    element("enter-text", HTMLElement).textContent = words.enterRoom(titleOf(this.#room.value));
  }
}
