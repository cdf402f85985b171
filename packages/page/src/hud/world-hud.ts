import type { World } from "nowcast/world";
import type { Binding } from "../actions.js";
import { buttonOf } from "../actions.js";
import { pageTexts } from "../texts.js";
import { isOwnPlace } from "../ui/panels.js";
import { HUD_STYLE } from "./hud-style.js";
import { clockText, readTold, sidesOf, textOf, wordOf } from "./screen-text.js";

/** Chat lines that stay in view. */
const LINES_MAX = 6;
const NOTICE_MS = 8_000;
const KEPT_PLACES: ReadonlySet<string> = new Set(["score", "clock", "message", "prompt"]);

/** Receives the input of the display's own elements. */
export interface HudListener {
  /** A button of an action was pressed or released; the trigger is that of `buttonOf`. */
  press(trigger: string): void;
  release(trigger: string): void;
  jump(isDown: boolean): void;
}

/**
 * The texts over a world's picture: people, score, clock, message, prompts, chat, controls, and buttons to touch. It
 * fills its container, which needs a position, and follows the world by itself.
 */
export class WorldHud {
  readonly element = document.createElement("div");
  /** Elements for a stick under the thumb. */
  readonly stick = part("div", "stick");
  readonly knob = part("div", "knob");
  /** Receives touches of buttons; `WorldControls` sets it. */
  listener: HudListener | undefined;
  /** The newest lines of the chat as text, the oldest first. */
  readonly latest: string[] = [];
  readonly #world: World;
  readonly #releases: (() => void)[] = [];
  readonly #people = part("div", "panel");
  readonly #board = part("div", "panel board");
  readonly #middle = part("p", "panel middle");
  readonly #list = part("dl", "panel list");
  readonly #status = part("p", "panel");
  readonly #prompts = part("div", "prompts");
  readonly #log = part("ol", "log panel");
  readonly #input = document.createElement("input");
  readonly #help = part("div", "panel help");
  readonly #helpToggle = document.createElement("button");
  readonly #meter = part("div", "panel meter");
  readonly #fill = document.createElement("div");
  readonly #touch = part("div", "touch");
  #promptText = "";
  #noticeTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(container: HTMLElement, world: World) {
    this.#world = world;
    const root = this.element.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(HUD_STYLE);
    root.adoptedStyleSheets = [sheet];
    this.#status.setAttribute("role", "status");
    this.#middle.setAttribute("role", "status");
    this.#log.setAttribute("role", "log");
    this.#log.hidden = this.#middle.hidden = this.#help.hidden = this.#list.hidden = true;
    this.#meter.hidden = true;
    this.#meter.append(this.#fill);
    this.#input.maxLength = 300;
    this.#input.hidden = true;
    this.#input.setAttribute("aria-label", pageTexts.chat);
    this.#helpToggle.type = "button";
    this.#helpToggle.textContent = "?";
    this.#helpToggle.setAttribute("aria-label", pageTexts.help);
    this.#helpToggle.addEventListener("click", () => this.toggleHelp());
    this.#showTouch(isTouching());
    this.stick.append(this.knob);
    const top = part("div", "top");
    top.append(this.#people, this.#board, this.#helpToggle);
    const low = part("div", "low");
    low.append(this.#status, this.#prompts, this.#log, this.#input);
    root.append(this.stick, top, this.#list, this.#middle, this.#meter, this.#help, this.#touch, low);
    container.append(this.element);
    this.#listen();
    this.setActions([]);
    this.#showPeople();
    this.#showScreen();
    this.#showStatus();
  }

  /** Shows a line for some seconds. */
  say(text: string): void {
    clearTimeout(this.#noticeTimer);
    this.#status.textContent = text;
    this.#status.hidden = text === "";
    this.#noticeTimer = setTimeout(() => this.#showStatus(), NOTICE_MS);
  }

  /** The line that {@link WorldHud.say} shows now; empty for none. */
  get notice(): string {
    return this.#status.hidden ? "" : (this.#status.textContent ?? "");
  }

  openChat(): void {
    this.#input.hidden = false;
    this.#input.focus();
  }

  toggleHelp(): void {
    this.#help.hidden = !this.#help.hidden;
    this.#helpToggle.setAttribute("aria-expanded", String(!this.#help.hidden));
  }

  /** Sets the actions for the list of controls and for the buttons to touch. */
  setActions(bindings: readonly Binding[]): void {
    const { walk, run, jump, look, chat } = pageTexts;
    const lines: [string, string][] = [
      ["W A S D", walk],
      ["Shift", run],
      ["Space", jump],
      ...bindings.flatMap(({ key, label, charge }): [string, string][] => {
        if (key === undefined) return [];
        return [[charge ? pageTexts.hold(keyName(key)) : keyName(key), label]];
      }),
      ["Enter", chat],
      [", .", pageTexts.keyboardLook],
      ["Page Up, Page Down", pageTexts.keyboardTilt],
    ];
    this.#help.replaceChildren(...lines.map(([key, text]) => keyLine(key, text)), look);
    const buttons = bindings.map(({ action, label }) => {
      const trigger = buttonOf(action);
      return this.#button(
        label,
        () => this.listener?.press(trigger),
        () => this.listener?.release(trigger),
        trigger,
      );
    });
    const leap = this.#button(
      jump,
      () => this.listener?.jump(true),
      () => this.listener?.jump(false),
    );
    this.#touch.replaceChildren(...buttons, leap);
  }

  /** Shows the actions that can be done now: those with a target before the others. */
  setPrompts(offers: readonly Binding[], possible: readonly Binding[]): void {
    const shown = [...offers, ...possible.filter((binding) => !offers.includes(binding))];
    const text = shown.map(({ action }) => action).join(" ");
    if (text === this.#promptText) return;
    this.#promptText = text;
    this.#prompts.replaceChildren(
      ...shown.flatMap(({ key, label }) =>
        key === undefined ? [] : [keyLine(keyName(key), label, "panel")],
      ),
    );
    const offered = new Set(shown.map(({ action }) => buttonOf(action)));
    for (const button of this.#touch.querySelectorAll("button")) {
      button.classList.toggle("offered", offered.has(button.dataset["trigger"] ?? ""));
    }
  }

  /** Shows the charge of an action, 0 to 1; `undefined` hides it. */
  setCharge(share: number | undefined): void {
    this.#meter.hidden = share === undefined;
    this.#fill.style.scale = `${share ?? 0} 1`;
  }

  dispose(): void {
    clearTimeout(this.#noticeTimer);
    for (const release of this.#releases.splice(0)) release();
    this.element.remove();
  }

  #listen(): void {
    const world = this.#world;
    const touched = (event: PointerEvent): void => {
      this.#showTouch(event.pointerType === "touch" || isTouching());
    };
    window.addEventListener("pointerdown", touched, true);
    this.#input.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && this.#input.value.trim() !== "") world.chat(this.#input.value);
      if (event.key !== "Enter" && event.key !== "Escape") return;
      this.#input.value = "";
      this.#input.hidden = true;
      event.stopPropagation();
      event.preventDefault();
    });
    this.#releases.push(
      () => window.removeEventListener("pointerdown", touched, true),
      world.on("player", () => this.#showPeople()),
      world.on("left", () => this.#showPeople()),
      world.on("screen", () => this.#showScreen()),
      world.on("status", () => this.#showStatus()),
      world.on("notice", ({ text }) => this.say(text)),
      world.on("error", ({ error, retryInMs }) => retryInMs === undefined && this.say(error.message)),
      world.on("refused", ({ action, reason, request }) => {
        if (request === undefined) this.say(pageTexts.refused(wordOf(action), reason));
      }),
      world.on("event", ({ name, payload }) => {
        const told = name === "tell" ? readTold(payload) : undefined;
        if (told !== undefined) this.#add(told);
      }),
      world.on("chat", ({ name, text }) => this.#add(`${name}: ${text}`)),
    );
  }

  /** Buttons to touch show their actions themselves, so there are no prompts for keys beside them. */
  #showTouch(isShown: boolean): void {
    this.#touch.hidden = !isShown;
    this.#prompts.hidden = isShown;
  }

  #add(line: string): void {
    this.latest.push(line);
    if (this.latest.length > LINES_MAX) this.latest.shift();
    const item = document.createElement("li");
    item.textContent = line;
    this.#log.append(item);
    while (this.#log.childElementCount > LINES_MAX) this.#log.firstElementChild!.remove();
    this.#log.hidden = false;
  }

  #showPeople(): void {
    this.#people.textContent = pageTexts.people(this.#world.players.size);
  }

  #showStatus(): void {
    const { status } = this.#world;
    const text = status === "open" ? "" : pageTexts[status];
    this.#status.textContent = text;
    this.#status.hidden = text === "";
  }

  #showScreen(): void {
    const { screen } = this.#world;
    const sides = sidesOf(screen.get("score")).map(({ name, value }) => labelled(name, value));
    const clock = screen.has("clock") ? [clockText(screen.get("clock"))] : [];
    this.#board.replaceChildren(...sides, ...clock);
    this.#board.hidden = sides.length + clock.length === 0;
    const lines = [textOf(screen.get("message")), textOf(screen.get("prompt"))].filter((line) => line !== "");
    const middle = lines.join("\n");
    if (this.#middle.textContent !== middle) this.#middle.textContent = middle;
    this.#middle.hidden = middle === "";
    const rest = [...screen]
      .filter(([place]) => !KEPT_PLACES.has(place) && !isOwnPlace(place))
      .sort(([a], [b]) => (a < b ? -1 : 1));
    this.#list.replaceChildren(
      ...rest.map(([place, value]) => labelled(wordOf(place), textOf(value), "div")),
    );
    this.#list.hidden = rest.length === 0;
  }

  #button(label: string, down: () => void, up: () => void, trigger = ""): HTMLButtonElement {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = label;
    button.dataset["trigger"] = trigger;
    button.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      down();
    });
    button.addEventListener("pointerup", up);
    button.addEventListener("pointercancel", up);
    return button;
  }
}

function isTouching(): boolean {
  return window.matchMedia("(pointer: coarse)").matches;
}

function part<K extends keyof HTMLElementTagNameMap>(tag: K, classes: string): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  made.className = classes;
  return made;
}

function labelled(name: string, value: string, tag: "span" | "div" = "span"): HTMLElement {
  const side = document.createElement(tag);
  const shown = document.createElement("b");
  shown.textContent = value;
  if (name !== "") side.append(`${name} `);
  side.append(shown);
  return side;
}

function keyLine(key: string, text: string, classes = ""): HTMLElement {
  const line = part("div", classes);
  const cap = document.createElement("kbd");
  cap.textContent = key;
  line.append(cap, ` ${text}`);
  return line;
}

/** The label of an action's key on a keyboard, or its mouse gesture. */
function keyName(key: string): string {
  if (key === "left") return pageTexts.leftButton;
  return key === "right" ? pageTexts.rightButton : key.toUpperCase();
}
