import { type Binding, worldsOf } from "nowcast/internal";
import type { World } from "nowcast/world";
import { buttonOf } from "../actions.js";
import { type ChatElements, ChatPanel } from "../chat/chat-panel.js";
import type { DeviceInUse } from "../input/devices.js";
import type { Command } from "../input/input-collector.js";
import { peopleIn } from "../people.js";
import { pageTexts } from "../texts.js";
import type { VoiceElements } from "../voice/voice-toggle.js";
import { type Ending, explainClose } from "./close-reason.js";
import { ConnectionBanner } from "./connection-banner.js";
import type { ControlsDisplay, DisplayListener } from "./controls-display.js";
import { EmoteMenu } from "./emote-menu.js";
import { type HighlightElements, Highlights } from "./highlights.js";
import { flipHelp, IntroCard, type IntroElements } from "./intro-card.js";
import {
  barActions,
  KEYBOARD,
  KeyBar,
  type Movement,
  movementOf,
  promptedActions,
  promptFor,
} from "./key-hints.js";
import { type PeopleElements, PeopleList } from "./people-list.js";
import { wordOf } from "./screen-text.js";
import { type ScreenElements, ScreenTexts } from "./screen-texts.js";
import { onTouchButton, TouchButtons } from "./touch-buttons.js";
import { followLines, type LinesDisplay } from "./world-lines.js";

const NOTICE_MS = 8_000;
const REFUSAL_MS = 3_000;
/** Actions that a prompt names at a time. */
const PROMPTS_MAX = 4;
/** Number of touch buttons side by side on a phone, for styles that leave room for them. */
const BUTTONS_A_ROW = 3;
/** Colour of the names in the chat on a page without `WorldControls`. */
const NAME_COLOR = 0x8e5aa8;

/** The elements of a {@link Hud}. */
export interface HudElements {
  /** Has the device in use as `data-device`, and the number of rows of touch buttons as `--action-rows`. */
  readonly root: HTMLElement;
  /** Elements for a stick under the thumb. */
  readonly stick: HTMLElement;
  readonly knob: HTMLElement;
  readonly voice: VoiceElements;
  /** A checkbox by which the user looks around by moving the device. */
  readonly gyroscope: HTMLInputElement;
  readonly screens: ScreenElements;
  readonly chat: ChatElements;
  readonly people: PeopleElements;
  /** Shows the number of people. */
  readonly count: HTMLElement;
  readonly highlights: HighlightElements;
  readonly keys: { readonly bar: HTMLElement; readonly toggle: HTMLButtonElement };
  readonly intro: IntroElements;
  readonly emotes: HTMLElement;
  readonly emoteToggles: readonly HTMLElement[];
  /** The line about the connection. */
  readonly connection: HTMLElement;
  /** A button that is shown while the server refuses this client. */
  readonly otherRoom?: HTMLElement;
  readonly notice: HTMLElement;
  /** Says above the keys why an action was refused. */
  readonly refusal: HTMLElement;
  /** Names the actions that can be done now, and their controls. */
  readonly offers: HTMLElement;
  /** A meter whose first child is the bar. */
  readonly charge: HTMLElement;
  readonly touch: { readonly actions: HTMLElement; readonly jump: HTMLElement; readonly chat: HTMLElement };
}

/** The texts over the picture of a world, on elements that a page made. */
export class Hud implements ControlsDisplay, LinesDisplay {
  readonly stick: HTMLElement;
  readonly knob: HTMLElement;
  readonly voice: VoiceElements;
  readonly gyroscope: HTMLInputElement;
  /** Receives presses of buttons; `WorldControls` sets it. */
  listener: DisplayListener | undefined;
  readonly chat: ChatPanel;
  readonly peopleList: PeopleList;
  readonly highlights: Highlights;
  readonly connection: ConnectionBanner;
  readonly keyBar: KeyBar;
  readonly intro: IntroCard;
  readonly emotes: EmoteMenu;
  readonly screens: ScreenTexts;
  /** The world that is shown. */
  protected world: World | undefined;
  readonly #elements: HudElements;
  readonly #buttons: TouchButtons;
  #labels: ReadonlyMap<string, string> = new Map();
  readonly #timers = new Map<HTMLElement, ReturnType<typeof setTimeout>>();
  /** The shown prompts; `undefined` if they must be written again. */
  #prompts: string | undefined;
  /** The actions that are possible now. */
  #possible: ReadonlySet<string> = new Set();
  /** Whether "?" has opened the card. The bar then lists all keys. */
  #isHelping = false;
  readonly #signal: AbortSignal | undefined;

  /** `onKeys` is called when the user hides or shows the bar of keys. The texts and their listeners end with `signal`. */
  constructor(elements: HudElements, onKeys?: (isVisible: boolean) => void, signal?: AbortSignal) {
    this.#elements = elements;
    this.#signal = signal;
    signal?.addEventListener("abort", () => {
      for (const timer of this.#timers.values()) clearTimeout(timer);
    });
    const { chat, people, screens, keys, intro, touch, emotes, emoteToggles } = elements;
    ({ stick: this.stick, knob: this.knob, voice: this.voice, gyroscope: this.gyroscope } = elements);
    const hud = this;
    const press = (trigger: string): void => this.listener?.press(trigger);
    const lift = (trigger: string): void => this.listener?.release(trigger);
    this.highlights = new Highlights(elements.highlights);
    this.connection = new ConnectionBanner(elements.connection, elements.otherRoom);
    this.screens = new ScreenTexts(screens, (key) => {
      press(key);
      lift(key);
    });
    this.peopleList = new PeopleList(people, {
      get world() {
        return hud.world;
      },
      find: (player) => this.listener?.find(player),
      choose: (player, choice) => this.listener?.choose(player, choice),
      say: (text) => this.say(text),
    });
    this.chat = new ChatPanel(
      chat,
      (text) => (this.listener ? this.listener.say(text) : this.world?.chat(text)),
      () => {
        chat.input.blur();
        this.listener?.done();
      },
    );
    this.keyBar = new KeyBar(
      keys,
      (isVisible) => onKeys?.(isVisible),
      () => this.run("help"),
    );
    this.intro = new IntroCard(intro, () => this.listener?.controls(), signal);
    this.emotes = new EmoteMenu(emotes, emoteToggles, (emote) => this.listener?.emote(emote), signal);
    this.#buttons = new TouchButtons(touch.actions, { press, lift });
    const jump = (isDown: boolean) => () => this.listener?.jump(isDown);
    onTouchButton(touch.jump, jump(true), jump(false));
    touch.chat.addEventListener("click", () => this.listener?.do("chat"));
  }

  /** Shows a world until the signal. */
  follow(world: World, signal: AbortSignal): void {
    this.world = world;
    const on: World["on"] = (type, listener) => world.on(type, listener, { signal });
    for (const type of ["joined", "renamed", "avatar", "left", "status"] as const)
      on(type, () => this.#countPeople(world));
    on("welcome", () => this.#showScreen(world));
    on("screen", () => this.#showScreen(world));
    for (const type of ["status", "snapshot"] as const) on(type, () => this.showStatus(world));
    on("error", ({ error, retryInMs }) =>
      retryInMs === undefined ? this.ended(error) : this.connection.ended(error),
    );
    followLines(world, this, signal);
    this.#countPeople(world);
    this.#showScreen(world);
    this.showStatus(world);
  }

  /** Removes the texts of a world. */
  clear(): void {
    this.peopleList.clear();
    this.highlights.clear();
  }

  /** Shows a line for some seconds. */
  say(text: string): void {
    this.#showFor(NOTICE_MS, this.#elements.notice, text);
  }

  /** Shows for some seconds why an action was refused. */
  refuse(text: string): void {
    this.#showFor(REFUSAL_MS, this.#elements.refusal, text);
  }

  #showFor(ms: number, line: HTMLElement, text: string): void {
    clearTimeout(this.#timers.get(line));
    line.textContent = text;
    line.hidden = text === "";
    this.#timers.set(
      line,
      setTimeout(() => {
        line.hidden = true;
      }, ms),
    );
  }

  /** The visible connection line, notice and refusal, joined; empty if none is shown. */
  get notice(): string {
    const { connection, notice, refusal } = this.#elements;
    const shown = [connection, notice, refusal].filter((line) => !line.hidden);
    return shown.map((line) => line.textContent).join(" ");
  }

  /** Carries out a command of the page: opens the chat, shows the keys, or closes the list of people. */
  run(command: Command): void {
    if (command === "chat") this.chat.open();
    else if (command === "help") {
      flipHelp(this.intro, this.keyBar);
      this.#isHelping = this.intro.isVisible;
    } else if (command === "emotes") this.emotes.flip();
    else if (command === "begin") this.intro.hide();
    else if (command === "escape") this.peopleList.close();
  }

  get movement(): Movement {
    return movementOf(this.world, this.intro.steps);
  }

  /** The label of an action. */
  labelOf(action: string): string {
    return this.#labels.get(action) ?? wordOf(action);
  }

  colorOf(avatar: number | undefined): number {
    return this.listener?.colorOf(avatar) ?? NAME_COLOR;
  }

  /** Sets the actions for the list of controls and for the buttons to touch. */
  setActions(bindings: readonly Binding[]): void {
    this.#labels = new Map(bindings.map(({ action, label }) => [action, label]));
    const kinds = this.world?.definition?.kinds ?? [];
    const hasEmotes = kinds.some(({ attributes }) => attributes.some(({ name }) => name === "emote"));
    for (const toggle of this.#elements.emoteToggles) toggle.hidden = !hasEmotes;
    this.#buttons.offer(bindings.map(({ action, label }) => ({ trigger: buttonOf(action), label })));
    this.#leaveRoomFor(bindings.length);
    this.nameControls();
  }

  /** Names the controls of the device in use, because the device, its keys or the actions changed. */
  nameControls(): void {
    const controls = this.listener?.controls() ?? KEYBOARD;
    this.#listKeys();
    this.intro.update();
    // A touch screen has no keys to list, so help is only the card.
    this.#elements.keys.toggle.hidden = controls.device === "touch" && !this.intro.isDefined;
    this.#prompts = undefined;
  }

  /** Shows the actions that can be done now: those with a target before the others. */
  setPrompts(offers: readonly Binding[], others: readonly Binding[]): void {
    this.#isHelping &&= this.intro.isVisible;
    const lists = [offers, others].map((bindings) => bindings.map(({ action }) => action));
    const shown = [...lists, this.#isHelping].join(";");
    if (shown === this.#prompts) return;
    this.#possible = new Set(lists.flat());
    this.#listKeys();
    this.#prompts = shown;
    const element = this.#elements.offers;
    const controls = this.listener?.controls();
    element.textContent = promptFor(promptedActions(offers, others), controls, PROMPTS_MAX);
    element.hidden = element.textContent === "";
    if (controls?.device === "touch")
      this.#leaveRoomFor(this.#buttons.mark(triggersOf(offers), triggersOf(others)));
  }

  /** Shows the charge of an action, 0 to 1; `undefined` hides it. */
  setCharge(share: number | undefined): void {
    const { charge } = this.#elements;
    charge.hidden = share === undefined;
    if (share === undefined) return;
    (charge.firstElementChild as HTMLElement).style.scale = `${share} 1`;
    charge.setAttribute("aria-valuenow", String(Math.round(share * 100)));
  }

  /** Names the controls of this device from now on. */
  setDevice(device: DeviceInUse): void {
    this.#elements.root.dataset["device"] = device;
    this.nameControls();
  }

  /** Shows the goal and the first steps of a world, if its server lists it. */
  async introduce(name: string): Promise<void> {
    const world = this.world;
    const signal = this.#signal;
    const worlds = await worldsOf(world?.serverUrl ?? "", { signal }).catch(() => []);
    if (signal?.aborted || world === undefined || world !== this.world || world.status === "closed") return;
    this.intro.define(worlds.find((world) => world.name === name));
    this.intro.show();
    this.nameControls();
  }

  protected showStatus({ status, connection }: World): void {
    this.connection.update(status, connection);
  }

  /** Shows why the connection ended for good. */
  protected ended(error: Ending): void {
    const { cause, cure } = explainClose(error);
    this.say(`${cause} ${cure}`);
  }

  #showScreen(world: World): void {
    this.screens.invalidate();
    // Batches values that arrive together into one update.
    queueMicrotask(() => {
      if (world === this.world) this.screens.update(world.screen);
    });
  }

  #countPeople(world: World): void {
    const { length } = peopleIn(world);
    const { count, people } = this.#elements;
    const { invite } = people;
    if (invite) invite.hidden = length !== 1;
    const alone = invite ? [] : [pageTexts.onlyYou];
    // A player without an avatar watches.
    const isWatching = world.status === "open" && world.avatarId === undefined;
    const text = [
      ...(length > 1 ? [pageTexts.people(length)] : alone),
      ...(isWatching ? [pageTexts.watching] : []),
    ].join(", ");
    if (count.textContent !== text) count.textContent = text;
    this.peopleList.update();
  }

  /** Lists all keys after "?" and in a world without first steps; otherwise the keys for now, and "?" for the rest. */
  #listKeys(): void {
    const { keyBar, intro } = this;
    const controls = this.listener?.controls() ?? KEYBOARD;
    keyBar.movement = this.movement;
    const isShort = intro.isDefined && !this.#isHelping;
    keyBar.define(controls, isShort ? barActions(controls.bindings, this.#possible, intro.steps) : undefined);
  }

  #leaveRoomFor(buttons: number): void {
    const rows = String(Math.ceil(buttons / BUTTONS_A_ROW));
    const { style } = this.#elements.root;
    if (style.getPropertyValue("--action-rows") !== rows) style.setProperty("--action-rows", rows);
  }
}

function triggersOf(bindings: readonly Binding[]): ReadonlySet<string> {
  return new Set(bindings.map(({ action }) => buttonOf(action)));
}
