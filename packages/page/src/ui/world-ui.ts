import type { World } from "nowcast/world";
import { onEscape } from "../dom.js";
import { textOf } from "../hud/screen-text.js";
import { ANCHORS, type Anchor, type Panel, type PanelPart, PRESS_ACTION, readPanels } from "./panels.js";
import { UI_STYLE } from "./ui-style.js";

const ROWS_MAX = 16;

/** Returns the place of an entity in the picture, in pixels of the container; `undefined` if it is not in view. */
export type Project = (entity: number) => { readonly x: number; readonly y: number } | undefined;

/**
 * The panels of a world over its picture. Texts are shown as texts, never as markup. Buttons and rows are buttons of the
 * document, so that keys, touch and screen readers reach them. It fills its container, which needs a position.
 */
export class WorldUi {
  readonly element = document.createElement("div");
  readonly #world: World;
  readonly #corners = new Map<Anchor, HTMLElement>();
  readonly #shown = new Map<string, ShownPanel>();
  /** Writes the value of a place on the screen, by the name of the place. */
  readonly #writers = new Map<string, () => void>();
  readonly #stale = new Set<string>();
  readonly #releases: (() => void)[];

  constructor(container: HTMLElement, world: World) {
    this.#world = world;
    const root = this.element.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(UI_STYLE);
    root.adoptedStyleSheets = [sheet];
    for (const anchor of ANCHORS) {
      const corner = made("div", anchor === "entity" ? "over" : `corner ${anchor}`);
      this.#corners.set(anchor, corner);
      root.append(corner);
    }
    container.append(this.element);
    this.#releases = [
      world.on("define", ({ definition }) => this.#define(readPanels(definition.actions))),
      world.on("screen", ({ place }) => this.#stale.add(place)),
    ];
  }

  /** Shows the changes since the last frame, and moves the panels that hang over entities. */
  update(project: Project): void {
    for (const place of this.#stale) this.#writers.get(place)?.();
    this.#stale.clear();
    for (const panel of this.#shown.values()) panel.follow(project);
  }

  dispose(): void {
    for (const release of this.#releases.splice(0)) release();
    this.element.remove();
  }

  #define(panels: readonly Panel[]): void {
    for (const { element } of this.#shown.values()) element.remove();
    this.#shown.clear();
    this.#writers.clear();
    for (const panel of panels) {
      const shown = new ShownPanel(panel);
      this.#shown.set(panel.name, shown);
      this.#corners.get(panel.at)!.append(shown.element);
      this.#watch(panel.place, (value) => shown.open(value));
      for (const part of panel.parts) {
        const { element, write } = partOf(part, {
          press: (given) => this.#press(part, given),
          urlOf: (file) => this.#urlOf(file),
        });
        shown.element.append(element);
        this.#watch(part.place, write);
      }
    }
  }

  #watch(place: string, write: (value: unknown) => void): void {
    const now = (): void => write(this.#world.screen.get(place));
    this.#writers.set(place, now);
    now();
  }

  /** The address of a file in the world's folder; `undefined` if there is none. */
  #urlOf(file: string): string | undefined {
    const { definition, serverUrl } = this.#world;
    const asset = definition?.assets.find(({ name }) => name === file);
    const isPicture = asset?.type.startsWith("image/") === true && asset.type !== "image/svg+xml";
    return isPicture ? `${serverUrl}/assets/${asset.hash}` : undefined;
  }

  #press(part: PanelPart, given: number | string | undefined): void {
    const args: { [name: string]: string | number } = { part: part.place };
    if (typeof given === "number") args["row"] = given;
    if (typeof given === "string") args["text"] = given;
    // A lost connection is shown by the status of the world.
    void this.#world.act(PRESS_ACTION, args);
  }
}

/** One panel, and the entity over which it hangs. */
class ShownPanel {
  readonly element = made("section", "panel");
  readonly #panel: Panel;
  #entity: number | undefined;

  constructor(panel: Panel) {
    this.#panel = panel;
    this.element.dataset["panel"] = panel.name;
    this.element.setAttribute("aria-label", panel.title || panel.name);
    if (panel.title !== "") {
      const title = made("h2", "");
      title.textContent = panel.title;
      this.element.append(title);
    }
  }

  open(value: unknown): void {
    this.#entity = typeof value === "number" ? value : undefined;
    const isOpen = value === undefined || value === null ? this.#panel.isOpen : value !== false;
    this.element.hidden = !isOpen || (this.#panel.at === "entity" && this.#entity === undefined);
  }

  follow(project: Project): void {
    if (this.#entity === undefined || this.#panel.at !== "entity") return;
    const at = project(this.#entity);
    this.element.style.visibility = at ? "visible" : "hidden";
    if (at)
      this.element.style.translate = `calc(${at.x.toFixed(1)}px - 50%) calc(${at.y.toFixed(1)}px - 100%)`;
  }
}

interface Part {
  readonly element: HTMLElement;
  /** Shows the value at the part's place; `undefined` shows the declared value. */
  readonly write: (value: unknown) => void;
}

/** The connections of a part to the world. */
interface PartWorld {
  /** Presses it: a row of a list, or the text of an input. */
  readonly press: (given?: number | string) => void;
  /** The address of a file in the world's folder; `undefined` if there is none. */
  readonly urlOf: (file: string) => string | undefined;
}

function partOf(part: PanelPart, { press, urlOf }: PartWorld): Part {
  switch (part.type) {
    case "text":
      return textPart(part);
    case "bar":
      return barPart(part);
    case "button":
      return buttonPart(part, press);
    case "list":
      return listPart(part, press);
    case "input":
      return inputPart(part, press);
    case "picture":
      return picturePart(part, urlOf);
  }
}

function textPart(part: PanelPart): Part {
  const element = made("p", "text");
  element.dataset["part"] = part.name;
  const value = document.createElement("b");
  if (part.label !== "") element.append(`${part.label} `);
  element.append(value);
  if (part.color !== undefined) value.style.color = cssOf(part.color);
  return {
    element,
    write: (given) => put(value, given === undefined || given === null ? part.text : textOf(given)),
  };
}

function barPart(part: PanelPart): Part {
  const element = made("div", "bar");
  element.dataset["part"] = part.name;
  const fill = made("div", "fill");
  if (part.color !== undefined) fill.style.background = cssOf(part.color);
  element.setAttribute("role", "meter");
  element.setAttribute("aria-label", part.label || part.name);
  element.setAttribute("aria-valuemin", "0");
  element.setAttribute("aria-valuemax", String(part.max));
  element.append(fill);
  if (part.label !== "") {
    const label = made("span", "");
    label.textContent = part.label;
    element.append(label);
  }
  const write = (given: unknown): void => {
    const value = typeof given === "number" && Number.isFinite(given) ? given : 0;
    const share = Math.min(1, Math.max(0, value / part.max));
    element.setAttribute("aria-valuenow", String(Math.min(part.max, Math.max(0, value))));
    fill.style.scale = `${share} 1`;
  };
  return { element, write };
}

function buttonPart(part: PanelPart, press: () => void): Part {
  const element = made("button", "");
  element.type = "button";
  element.dataset["part"] = part.name;
  if (part.color !== undefined) element.style.borderColor = cssOf(part.color);
  element.addEventListener("click", () => press());
  const write = (given: unknown): void => {
    element.disabled = given === false;
    put(element, typeof given === "string" ? textOf(given) : part.text || part.name);
  };
  return { element, write };
}

function listPart(part: PanelPart, press: (row: number) => void): Part {
  const element = made("div", "list");
  element.dataset["part"] = part.name;
  const rows = made("ol", "");
  if (part.label !== "") {
    const label = made("p", "text");
    label.textContent = part.label;
    element.append(label);
  }
  element.append(rows);
  const write = (given: unknown): void => {
    const texts = Array.isArray(given) ? given.slice(0, ROWS_MAX).map((row) => textOf(row)) : [];
    rows.replaceChildren(
      ...texts.map((text, index) => {
        const row = document.createElement("li");
        if (!part.isPressable) {
          row.textContent = text;
          return row;
        }
        const button = made("button", "");
        button.type = "button";
        button.textContent = text;
        button.addEventListener("click", () => press(index + 1));
        row.append(button);
        return row;
      }),
    );
    element.hidden = texts.length === 0;
  };
  return { element, write };
}

/** A line to write in. Enter or the button sends the text; the keys of the page have no effect meanwhile. */
function inputPart(part: PanelPart, press: (text: string) => void): Part {
  const element = made("form", "input");
  element.dataset["part"] = part.name;
  const line = made("input", "");
  line.type = "text";
  line.maxLength = part.max;
  line.autocomplete = "off";
  line.placeholder = part.label;
  line.setAttribute("aria-label", part.label || part.name);
  const send = made("button", "");
  send.type = "submit";
  send.textContent = "↵";
  send.setAttribute("aria-label", `${part.label || part.name}: ↵`);
  element.append(line, send);
  for (const type of ["keydown", "keyup"] as const)
    line.addEventListener(type, (event) => event.stopPropagation());
  onEscape(line, () => line.blur());
  element.addEventListener("submit", (event) => {
    event.preventDefault();
    press(line.value.slice(0, part.max));
    line.value = "";
    line.blur();
  });
  const write = (given: unknown): void => {
    line.disabled = send.disabled = given === false;
    // A text that the player writes now is not replaced.
    if (line.getRootNode() instanceof ShadowRoot && (line.getRootNode() as ShadowRoot).activeElement === line)
      return;
    line.value = typeof given === "string" ? textOf(given).slice(0, part.max) : part.text;
  };
  return { element, write };
}

function picturePart(part: PanelPart, urlOf: (file: string) => string | undefined): Part {
  const element = made("img", "picture");
  element.dataset["part"] = part.name;
  element.alt = part.label;
  element.decoding = "async";
  element.style.maxWidth = `${part.max}px`;
  const write = (given: unknown): void => {
    const url = urlOf(typeof given === "string" ? given : part.text);
    element.hidden = url === undefined;
    if (url !== undefined && element.getAttribute("src") !== url) element.src = url;
  };
  return { element, write };
}

/** Writes a text only if it changed, because screen readers speak each write. */
function put(target: HTMLElement, text: string): void {
  if (target.textContent !== text) target.textContent = text;
}

function cssOf(color: number): string {
  return `#${color.toString(16).padStart(6, "0")}`;
}

function made<K extends keyof HTMLElementTagNameMap>(tag: K, classes: string): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (classes !== "") element.className = classes;
  return element;
}
