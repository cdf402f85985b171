import { copyText, isConverting, titleOf } from "@nowcast/page/internal";
import type { WorldListing } from "nowcast/internal";
import { privateRoom } from "nowcast/world";
import { element } from "../dom.js";
import { shareAddress } from "../page-address.js";
import { words } from "../words.js";
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
  readonly #worlds = element("worlds", HTMLElement);
  readonly #note = element("start-note", HTMLElement);

  /** Loads the pictures of the cards that come into the window. */
  readonly #shownCards = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (!isIntersecting || !(target instanceof HTMLImageElement)) continue;
        target.src = target.dataset["picture"] ?? "";
        this.#shownCards.unobserve(target);
      }
    },
    { root: this.#screen },
  );
  /** The names of the worlds that the server offers. */
  #offered: readonly string[] = [];
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
  }

  /**
   * Opens the start screen. Without a room, it offers the server's first world. `note` describes a problem
   * with the address, if there is one.
   */
  show(name: string, room: string | undefined, note = ""): void {
    this.#name.value = name === "" ? words.suggestName() : name;
    this.#isUnnamed = room === undefined;
    this.#room.value = room ?? "";
    this.#writeLink();
    this.#note.textContent = note;
    this.#note.hidden = note === "";
    this.#screen.hidden = false;
    this.#screen.classList.remove("leaving");
    const reveal = window.setTimeout(() => this.#reveal(), LIST_MS_MAX);
    void fetchWorlds().then((worlds) => {
      window.clearTimeout(reveal);
      this.#list(worlds);
      this.#reveal();
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

  #reveal(): void {
    if (this.#screen.classList.contains("ready")) return;
    this.#screen.classList.add("ready");
    // The field does not get the focus on touch screens, because the on-screen keyboard would open and hide
    // the page.
    if (window.matchMedia("(pointer: coarse)").matches) return;
    this.#name.focus({ preventScroll: true });
    this.#name.select();
  }

  hide(): void {
    this.#screen.classList.remove("ready");
    this.#screen.classList.add("leaving");
    window.setTimeout(() => {
      if (this.#screen.classList.contains("leaving")) this.#screen.hidden = true;
    }, 500);
  }

  skip(): void {
    this.#screen.hidden = true;
  }

  #enter(room: string): void {
    this.hide();
    this.#onEnter(this.#name.value.trim(), room);
  }

  /** One button for each world, which enters the room of its name. It shows the number of players in the world. */
  #list(worlds: readonly WorldListing[]): void {
    this.#offered = worlds.map(({ name }) => name);
    const [first] = worlds;
    if (this.#isUnnamed && first) {
      this.#room.value = first.name;
      this.#writeLink();
    }
    this.#worlds.hidden = worlds.length === 0;
    this.#worlds.querySelector("ul")?.replaceChildren(...worlds.map((world) => this.#createCard(world)));
  }

  /** A picture or the initial of the name, the name, the goal, and the number of people. */
  #createCard({ name, rooms, goal, picture, players: people = 0 }: WorldListing): HTMLLIElement {
    const button = document.createElement("button");
    button.type = "button";
    button.dataset["world"] = name;
    if (picture === undefined) {
      const initial = document.createElement("i");
      initial.textContent = name.slice(0, 1);
      initial.setAttribute("aria-hidden", "true");
      button.append(initial);
    } else {
      const image = document.createElement("img");
      Object.assign(image, { alt: "", width: 400, height: 225 });
      image.dataset["picture"] = picture.pathname;
      this.#shownCards.observe(image);
      button.append(image);
    }
    const title = document.createElement("b");
    title.textContent = titleOf(name);
    button.append(title);
    if (goal !== "") {
      const line = document.createElement("span");
      line.textContent = goal;
      button.append(line);
    }
    if (people > 0 || rooms.length > 0) {
      const open = document.createElement("small");
      open.textContent = people > 0 ? words.peopleHere(people) : words.roomsOpen(rooms.length);
      button.append(open);
    }
    button.addEventListener("click", () => this.#enter(name));
    const item = document.createElement("li");
    item.append(button);
    return item;
  }

  #writeLink(): void {
    const address = shareAddress(window.location, this.#room.value);
    this.#link.href = address;
    this.#link.textContent = address.replace(/^https?:\/\//, "");
    element("enter", HTMLButtonElement).textContent = words.enterRoom(titleOf(this.#room.value));
  }
}
