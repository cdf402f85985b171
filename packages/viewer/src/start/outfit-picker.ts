import { OUTFIT_CHOICES, type OutfitPart, packOutfit, readOutfit } from "@nowcast/three/internal";
import { words } from "../words.js";

const PARTS = Object.keys(OUTFIT_CHOICES) as OutfitPart[];

/**
 * Rows of choices for the clothes of the local avatar: colours, hats and builds. With the first choice of a row, the page
 * decides.
 */
export class OutfitPicker {
  readonly #container: HTMLElement;
  readonly #onChange: (outfit: number) => void;
  #outfit = 0;

  /** `onChange` is called with the new attribute `outfit`. */
  constructor(container: HTMLElement, onChange: (outfit: number) => void) {
    this.#container = container;
    this.#onChange = onChange;
    container.replaceChildren(...PARTS.map((part) => this.#createRow(part)));
  }

  show(outfit: number): void {
    this.#outfit = outfit;
    const chosen = readOutfit(outfit);
    for (const button of this.#container.querySelectorAll("button")) {
      const [part, choice] = [button.dataset["part"] as OutfitPart, Number(button.dataset["choice"])];
      button.setAttribute("aria-pressed", String(chosen[part] === choice));
    }
  }

  #createRow(part: OutfitPart): HTMLElement {
    const row = document.createElement("div");
    row.className = "outfit-row";
    row.setAttribute("role", "group");
    row.setAttribute("aria-label", words.outfitParts[part]);
    const label = document.createElement("span");
    label.textContent = words.outfitParts[part];
    const choices = OUTFIT_CHOICES[part].map((choice, i) => this.#createChoice(part, i + 1, choice));
    row.append(label, this.#createChoice(part, 0, words.outfitAny), ...choices);
    return row;
  }

  #createChoice(part: OutfitPart, choice: number, value: string): HTMLButtonElement {
    const button = document.createElement("button");
    button.type = "button";
    button.dataset["part"] = part;
    button.dataset["choice"] = String(choice);
    button.setAttribute("aria-pressed", "false");
    if (value.startsWith("#")) {
      button.className = "outfit-color";
      button.style.background = value;
      button.setAttribute("aria-label", words.outfitColor(words.outfitParts[part], choice));
    } else button.textContent = words.outfitNames[value as keyof typeof words.outfitNames] ?? value;
    button.addEventListener("click", () => {
      const outfit = packOutfit({ ...readOutfit(this.#outfit), [part]: choice });
      this.show(outfit);
      this.#onChange(outfit);
    });
    return button;
  }
}
