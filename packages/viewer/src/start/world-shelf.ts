import { titleOf } from "@nowcast/page/internal";
import type { WorldListing } from "nowcast/internal";
import { words } from "../words.js";

/** Steps between cards, by the code of an arrow key. A step up or down is a row of cards. */
const STEPS: Readonly<Record<string, readonly [columns: number, rows: number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/**
 * The worlds of the start page: a button for each, below the heading of its group. The Tab key stops once, and the arrow keys
 * move between the buttons.
 */
export class WorldShelf {
  readonly #section: HTMLElement;
  readonly #rows: HTMLElement;
  readonly #onChoose: (world: string) => void;
  /** Loads the pictures of the cards that come into the window. */
  readonly #shownCards: IntersectionObserver;

  /** `section` contains an element with the class `rows`. `scroller` is the element that scrolls. */
  constructor(section: HTMLElement, scroller: HTMLElement, onChoose: (world: string) => void) {
    this.#section = section;
    this.#rows = section.querySelector<HTMLElement>(".rows")!;
    this.#onChoose = onChoose;
    this.#shownCards = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) {
          if (!isIntersecting || !(target instanceof HTMLImageElement)) continue;
          target.src = target.dataset["picture"] ?? "";
          this.#shownCards.unobserve(target);
        }
      },
      { root: scroller },
    );
    this.#rows.addEventListener("keydown", (event) => {
      if (this.move(event.code)) event.preventDefault();
    });
    this.#rows.addEventListener("focusin", ({ target }) => {
      for (const card of this.#cards) card.tabIndex = card === target ? 0 : -1;
    });
  }

  /** Shows the worlds: those without a group, and then each group. */
  show(worlds: readonly WorldListing[]): void {
    this.#section.hidden = worlds.length === 0;
    // The earlier pictures leave the page.
    this.#shownCards.disconnect();
    const groups = [...new Set(["", ...worlds.map(({ group }) => group)])];
    this.#rows.replaceChildren(
      ...groups.flatMap((group) => {
        const list = document.createElement("ul");
        list.append(
          ...worlds.filter((world) => world.group === group).map((world) => this.#createCard(world)),
        );
        if (group === "") return list.childElementCount === 0 ? [] : [list];
        const heading = document.createElement("h3");
        heading.textContent = group;
        return [heading, list];
      }),
    );
    for (const [index, card] of this.#cards.entries()) card.tabIndex = index === 0 ? 0 : -1;
  }

  /** Moves the focus as an arrow key does. Returns false if the key is none, or if no card is there. */
  move(code: string): boolean {
    const cards = this.#cards;
    const from = cards.indexOf(document.activeElement as HTMLButtonElement);
    const step = STEPS[code];
    if (!step) return false;
    const [columns, rows] = step;
    const to = from < 0 ? cards[0] : rows === 0 ? cards[from + columns] : nearestInRow(cards, from, rows);
    to?.focus();
    return to !== undefined;
  }

  /** Presses the card that has the focus. Returns false if none has it. */
  press(): boolean {
    const card = this.#cards.find((card) => card === document.activeElement);
    card?.click();
    return card !== undefined;
  }

  get #cards(): readonly HTMLButtonElement[] {
    return [...this.#rows.querySelectorAll("button")];
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
    button.addEventListener("click", () => this.#onChoose(name));
    const item = document.createElement("li");
    item.append(button);
    return item;
  }
}

/** The card above or below a card: the nearest one of the next row. */
function nearestInRow(
  cards: readonly HTMLElement[],
  from: number,
  direction: number,
): HTMLElement | undefined {
  const places = cards.map((card) => card.getBoundingClientRect());
  const own = places[from]!;
  const ahead = (place: DOMRect): number => (place.top - own.top) * direction;
  const row = Math.min(...places.map(ahead).filter((distance) => distance > 1));
  const aside = (index: number): number => Math.abs(places[index]!.left - own.left);
  const inRow = places.flatMap((place, index) => (Math.abs(ahead(place) - row) < 1 ? [index] : []));
  const [nearest] = inRow.sort((a, b) => aside(a) - aside(b));
  return nearest === undefined ? undefined : cards[nearest];
}
