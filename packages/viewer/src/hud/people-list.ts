import type { People } from "@nowcast/page";
import { copyText, element } from "../dom.js";
import { words } from "../words.js";

/** The choices of the user about another player. */
export interface PersonChoice {
  /** No voice of the player is played. */
  isMuted: boolean;
  /** Neither voice nor lines of the player reach the user. */
  isBlocked: boolean;
}

/** The parts of the page that the list needs. */
export interface PeopleListPage {
  readonly people: People;
  /** The local player. */
  readonly player: number | undefined;
  /** Turns the camera to the avatar of a player. */
  find(player: number): void;
  /** Called when the user mutes or blocks a player, or takes it back. */
  choose(player: number, choice: Readonly<PersonChoice>): void;
  say(text: string): void;
}

/** The list of the people in the room, which the button with the name of the room opens. */
export class PeopleList {
  readonly #panel = element("people", HTMLElement);
  readonly #list = element("people-list", HTMLUListElement);
  readonly #toggle = element("place", HTMLButtonElement);
  readonly #choices = new Map<number, PersonChoice>();
  readonly #page: PeopleListPage;
  #address = "";

  constructor(page: PeopleListPage) {
    this.#page = page;
    this.#toggle.addEventListener("click", () => this.#setOpen(this.#panel.hidden));
    element("people-link", HTMLButtonElement).addEventListener("click", async () => {
      page.say((await copyText(this.#address)) ? words.linkCopied : this.#address);
    });
    this.#panel.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      this.close();
      this.#toggle.focus();
    });
  }

  /** Begins with a room at a shared address. */
  enter(address: string): void {
    this.#address = address;
    this.clear();
  }

  /** Forgets all choices, because the numbers of players belong to one connection. */
  clear(): void {
    this.#choices.clear();
    this.#list.replaceChildren();
  }

  close(): void {
    this.#setOpen(false);
  }

  /** The choices about all players, for voices that begin later. */
  get choices(): ReadonlyMap<number, Readonly<PersonChoice>> {
    return this.#choices;
  }

  isBlocked(player: number): boolean {
    return this.#choices.get(player)?.isBlocked ?? false;
  }

  /** Shows the people of the room again, if the list is open. Existing lines stay, because one may have the focus. */
  update(): void {
    if (this.#panel.hidden) return;
    const { people, player } = this.#page;
    const lines = new Map(
      [...this.#list.children].map((line) => [(line as HTMLElement).dataset["player"], line]),
    );
    const shown = [...people.all].map(([id, { name }]) => {
      const line = lines.get(String(id)) ?? this.#createLine(id, id === player);
      line.querySelector("span")!.textContent = id === player ? words.you(name) : name;
      return line;
    });
    this.#list.replaceChildren(...shown);
  }

  #setOpen(isOpen: boolean): void {
    this.#panel.hidden = !isOpen;
    this.#toggle.setAttribute("aria-expanded", String(isOpen));
    this.update();
  }

  #createLine(player: number, isOwn: boolean): HTMLLIElement {
    const line = document.createElement("li");
    line.dataset["player"] = String(player);
    line.append(document.createElement("span"));
    if (isOwn) return line;
    const find = createButton(words.find);
    find.addEventListener("click", () => this.#page.find(player));
    line.append(find, this.#createSwitch(player, "isMuted"), this.#createSwitch(player, "isBlocked"));
    return line;
  }

  #createSwitch(player: number, field: keyof PersonChoice): HTMLButtonElement {
    const button = createButton(field === "isMuted" ? words.mute : words.block);
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => {
      const choice = this.#choices.get(player) ?? { isMuted: false, isBlocked: false };
      choice[field] = !choice[field];
      this.#choices.set(player, choice);
      button.setAttribute("aria-pressed", String(choice[field]));
      this.#page.choose(player, choice);
    });
    return button;
  }
}

function createButton(text: string): HTMLButtonElement {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = text;
  return button;
}
