import type { World } from "nowcast/world";
import { copyText } from "../dom.js";
import { peopleIn } from "../people.js";
import { pageTexts } from "../texts.js";

/** The choices of the user about another player. */
export interface PersonChoice {
  /** No voice of the player is played. */
  isMuted: boolean;
  /** Neither voice nor lines of the player reach the user. */
  isBlocked: boolean;
}

/** The parts of the page that the list needs. */
export interface PeopleListPage {
  readonly world: Pick<World, "players" | "playerId"> | undefined;
  /** Turns the camera to the avatar of a player. */
  find(player: number): void;
  /** Called when the user mutes or blocks a player, or takes it back. */
  choose(player: number, choice: Readonly<PersonChoice>): void;
  say(text: string): void;
}

/** The elements of {@link PeopleList}. */
export interface PeopleElements {
  readonly panel: HTMLElement;
  readonly list: HTMLUListElement;
  /** The button that opens the panel and closes it. */
  readonly toggle: HTMLButtonElement;
  /** The button that copies the shared address of the room. */
  readonly link?: HTMLButtonElement;
  /** Another button that copies the address, shown while the user is alone. */
  readonly invite?: HTMLButtonElement;
}

/** The list of the people in the room, to find, mute and block. */
export class PeopleList {
  readonly #panel: HTMLElement;
  readonly #list: HTMLUListElement;
  readonly #toggle: HTMLButtonElement;
  readonly #choices = new Map<number, PersonChoice>();
  readonly #page: PeopleListPage;
  #address = "";

  constructor({ panel, list, toggle, link, invite }: PeopleElements, page: PeopleListPage) {
    this.#page = page;
    this.#panel = panel;
    this.#list = list;
    this.#toggle = toggle;
    this.#toggle.addEventListener("click", () => this.#setOpen(this.#panel.hidden));
    for (const button of [link, invite])
      button?.addEventListener("click", async () => {
        page.say((await copyText(this.#address)) ? pageTexts.linkCopied : this.#address);
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
    const { world } = this.#page;
    const player = world?.playerId;
    const lines = new Map(
      [...this.#list.children].map((line) => [(line as HTMLElement).dataset["player"], line]),
    );
    const shown = peopleIn(world).map(({ id, name }) => {
      const line = lines.get(String(id)) ?? this.#createLine(id, id === player);
      line.querySelector("span")!.textContent = id === player ? pageTexts.you(name) : name;
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
    const find = createButton(pageTexts.find);
    find.addEventListener("click", () => this.#page.find(player));
    line.append(find, this.#createSwitch(player, "isMuted"), this.#createSwitch(player, "isBlocked"));
    return line;
  }

  #createSwitch(player: number, field: keyof PersonChoice): HTMLButtonElement {
    const button = createButton(field === "isMuted" ? pageTexts.mute : pageTexts.block);
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
