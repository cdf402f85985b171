import {
  type ChatPanel,
  type EmoteMenu,
  type Highlights,
  type IntroCard,
  type KeyBar,
  type PeopleList,
  promptFor,
  type WorldControls,
} from "@nowcast/page";
import {
  buttonOf,
  type Command,
  type ControlsDisplay,
  type DeviceInUse,
  type DisplayListener,
  flipHelp,
  hasWalkers,
  type LinesDisplay,
  promptedActions,
} from "@nowcast/page/internal";
import type { WorldScene } from "@nowcast/three/internal";
import type { Binding } from "nowcast/internal";
import { element } from "./dom.js";
import type { Figures } from "./hud/figures.js";
import type { Hud } from "./hud/hud.js";
import type { RulesConsole } from "./hud/rules-console.js";
import { TouchPad } from "./input/touch-pad.js";
import { stickElements, voiceElements } from "./page-elements.js";

/** Actions that are shown at a time. */
const PROMPTS_MAX = 4;

/** The parts of the page that show the controls and the lines of a world. */
export interface DisplayParts {
  readonly controls: WorldControls;
  readonly scene: WorldScene;
  readonly hud: Hud;
  readonly chat: ChatPanel;
  readonly highlights: Highlights;
  readonly peopleList: PeopleList;
  readonly keyBar: KeyBar;
  readonly intro: IntroCard;
  readonly emotes: EmoteMenu;
  readonly figures: Figures;
  readonly console: RulesConsole;
}

/** The display of this page for the controls and the lines of a world. */
export class PageDisplay implements ControlsDisplay, LinesDisplay {
  listener: DisplayListener | undefined;
  readonly stick: HTMLElement;
  readonly knob: HTMLElement;
  readonly voice = voiceElements();
  readonly gyroscope = element("set-gyroscope", HTMLInputElement);
  readonly #touchPad: TouchPad;
  readonly #page: DisplayParts;

  constructor(page: DisplayParts, canvas: HTMLCanvasElement) {
    this.#page = page;
    [this.stick, this.knob] = stickElements();
    this.#touchPad = new TouchPad(canvas, this);
  }

  get chat(): ChatPanel {
    return this.#page.chat;
  }

  get notice(): string {
    return this.#page.hud.notices;
  }

  get highlights(): Highlights {
    return this.#page.highlights;
  }

  get peopleList(): PeopleList {
    return this.#page.peopleList;
  }

  run(command: Command): void {
    const { chat, figures, console, emotes, intro, keyBar } = this.#page;
    if (command === "chat") chat.open();
    else if (command === "hud") figures.flip();
    else if (command === "console") console.flip();
    else if (command === "help") flipHelp(intro, keyBar);
    else if (command === "emotes") emotes.flip();
    else if (command === "begin") intro.hide();
  }

  say(text: string): void {
    this.#page.hud.say(text);
  }

  labelOf(action: string): string {
    const { bindings } = this.#page.controls.actions;
    return bindings.find((binding) => binding.action === action)?.label ?? action;
  }

  colorOf(avatar: number | undefined): number {
    return this.#page.scene.crowd.colorOf(avatar);
  }

  setActions(bindings: readonly Binding[]): void {
    const { controls, keyBar } = this.#page;
    this.#touchPad.offer(bindings.map(({ action, label }) => ({ trigger: buttonOf(action), label })));
    keyBar.hasWalkers = hasWalkers(controls.view?.world);
    this.nameControls();
  }

  /** Names the controls of the device in use, because the device, its keys or the actions changed. */
  nameControls(): void {
    const { keyBar, intro } = this.#page;
    if (this.listener) keyBar.define(this.listener.controls());
    intro.update();
  }

  setPrompts(offers: readonly Binding[], others: readonly Binding[]): void {
    const controls = this.listener?.controls();
    this.#page.hud.setPrompt(promptFor(promptedActions(offers, others), controls, PROMPTS_MAX));
    if (controls?.device === "touch") this.#touchPad.mark(triggersOf(offers), triggersOf(others));
  }

  setCharge(share: number | undefined): void {
    this.#page.hud.setCharge(share);
  }

  setDevice(device: DeviceInUse): void {
    document.body.dataset["device"] = device;
    this.#touchPad.show(device === "touch");
    this.nameControls();
  }
}

function triggersOf(bindings: readonly Binding[]): ReadonlySet<string> {
  return new Set(bindings.map(({ action }) => buttonOf(action)));
}
