import { type Binding, worldsOf } from "nowcast/internal";
import type { World } from "nowcast/world";
import { buttonOf } from "../actions.js";
import { ChatPanel } from "../chat/chat-panel.js";
import type { DeviceInUse } from "../input/devices.js";
import type { Command } from "../input/input-collector.js";
import { peopleIn } from "../people.js";
import { pageTexts } from "../texts.js";
import { passesVoices, type VoiceElements } from "../voice/voice-toggle.js";
import { explainClose } from "./close-reason.js";
import { ConnectionBanner } from "./connection-banner.js";
import type { ControlsDisplay, DisplayListener } from "./controls-display.js";
import { EmoteMenu } from "./emote-menu.js";
import { Highlights } from "./highlights.js";
import { HUD_STYLE } from "./hud-style.js";
import { flipHelp, IntroCard } from "./intro-card.js";
import { hasWalkers, KEYBOARD, KeyBar, keyedActions, lookHints, promptedActions } from "./key-hints.js";
import { PeopleList } from "./people-list.js";
import { wordOf } from "./screen-text.js";
import { ScreenTexts } from "./screen-texts.js";
import { onTouchButton, TouchButtons } from "./touch-buttons.js";
import { followLines, type LinesDisplay } from "./world-lines.js";

const NOTICE_MS = 8_000;
/** Colour of the names in the chat on a page without `WorldControls`. */
const NAME_COLOR = 0x8e5aa8;

/**
 * The texts over a world's picture: people, score, clock, message, prompts, chat, connection, controls, and buttons to
 * touch. It fills its container, which needs a position, and follows the world by itself. It is assembled from the parts of
 * this package that any display can use: {@link ScreenTexts}, {@link ChatPanel}, {@link PeopleList}, {@link KeyBar},
 * {@link Highlights}, {@link ConnectionBanner} and {@link TouchButtons}.
 */
export class WorldHud implements ControlsDisplay, LinesDisplay {
  readonly element = document.createElement("div");
  /** Elements for a stick under the thumb. */
  readonly stick = part("div", "stick");
  readonly knob = part("div", "knob");
  readonly voice: VoiceElements;
  readonly gyroscope = checkbox();
  /** Receives presses of buttons; `WorldControls` sets it. */
  listener: DisplayListener | undefined;
  readonly chat: ChatPanel;
  readonly peopleList: PeopleList;
  readonly highlights: Highlights;
  readonly connection: ConnectionBanner;
  readonly #world: World;
  readonly #abort = new AbortController();
  readonly #toggle = button("panel people");
  readonly #screens: ScreenTexts;
  readonly #keys: KeyBar;
  readonly #buttons: TouchButtons;
  readonly #notice = part("p", "panel notice");
  readonly #prompts = part("div", "prompts");
  readonly #meter = part("div", "panel meter");
  readonly #fill = document.createElement("div");
  readonly #touch = part("div", "touch");
  readonly #help = part("div", "panel help");
  /** The button in the corner, and the one for thumbs. */
  readonly #emoteToggles = [button("panel emote"), button("emote")] as const;
  readonly #emotes: EmoteMenu;
  readonly #intro: IntroCard;
  readonly #voiceOption: HTMLElement;
  #labels: ReadonlyMap<string, string> = new Map();
  #promptText = "";
  #noticeTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(container: HTMLElement, world: World) {
    this.#world = world;
    const root = this.element.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(HUD_STYLE);
    root.adoptedStyleSheets = [sheet];
    const [flash, banner, line] = [
      part("div", "flash"),
      part("p", "panel message"),
      part("p", "panel notice"),
    ];
    const [board, score, clock] = [part("div", "panel board"), part("p", ""), part("p", "")];
    const [message, prompt, list] = [
      part("p", "panel message"),
      part("p", "panel"),
      part("dl", "panel list"),
    ];
    const [people, peopleLines] = [part("section", "panel crowd"), part("ul", "")];
    const [intro, emotes] = [part("section", "panel intro"), part("section", "panel emotes")];
    const helpToggle = button("panel");
    helpToggle.textContent = "?";
    helpToggle.setAttribute("aria-label", pageTexts.help);
    for (const spoken of [score, message, banner, prompt, line, this.#notice])
      spoken.setAttribute("role", "status");
    for (const empty of [banner, people, this.#help, this.#meter, this.#notice]) empty.hidden = true;
    this.highlights = new Highlights({ banner, flash });
    this.connection = new ConnectionBanner(line);
    const slots = part("div", "slots");
    this.#screens = new ScreenTexts({ board, score, clock, message, prompt, list, slots }, (key) => {
      this.listener?.press(key);
      this.listener?.release(key);
    });
    this.peopleList = new PeopleList(
      { panel: people, list: peopleLines, toggle: this.#toggle },
      {
        world,
        find: (player) => this.listener?.find(player),
        choose: (player, choice) => this.listener?.choose(player, choice),
        say: (text) => this.say(text),
      },
    );
    this.#keys = new KeyBar(
      { bar: this.#help, toggle: helpToggle },
      () => undefined,
      () => this.run("help"),
    );
    this.#intro = this.#createIntro(intro, helpToggle);
    emotes.hidden = true;
    for (const toggle of this.#emoteToggles) {
      toggle.textContent = "☺";
      toggle.setAttribute("aria-label", pageTexts.emotes);
    }
    this.#emotes = new EmoteMenu(
      emotes,
      this.#emoteToggles,
      (emote) => this.listener?.emote(emote),
      this.#abort.signal,
    );
    const [chat, log, form, input] = createChat();
    this.chat = new ChatPanel(
      { panel: chat, log, form, input },
      (text) => (this.listener ? this.listener.say(text) : world.chat(text)),
      () => {
        input.blur();
        this.listener?.done();
      },
    );
    const actionButtons = part("div", "actions");
    this.#buttons = new TouchButtons(actionButtons, {
      press: (trigger) => this.listener?.press(trigger),
      lift: (trigger) => this.listener?.release(trigger),
    });
    const talk = part("div", "talk");
    talk.append(this.#emoteToggles[1], this.#chatButton());
    this.#touch.append(talk, actionButtons, this.#jumpButton());
    this.#meter.append(this.#fill);
    this.stick.append(this.knob);
    board.append(score, clock);
    const microphone = button("panel");
    microphone.textContent = pageTexts.microphone;
    microphone.hidden = true;
    this.voice = { toggle: checkbox(), microphone, list: part("ul", "") };
    this.#voiceOption = option(this.voice.toggle, pageTexts.voiceOn);
    const lookOption = option(this.gyroscope, pageTexts.gyroscope);
    lookOption.className = "gyroscope";
    people.append(peopleLines, this.#voiceOption, this.voice.list, lookOption);
    const stickHint = part("p", "stick-hint");
    stickHint.textContent = pageTexts.walk;
    stickHint.setAttribute("aria-label", pageTexts.stick);
    const [top, said, middle, low] = [
      part("div", "top"),
      part("div", "said"),
      part("div", "middle"),
      part("div", "low"),
    ];
    const corner = part("div", "corner");
    corner.append(microphone, this.#emoteToggles[0], helpToggle);
    top.append(this.#toggle, board, corner);
    said.append(line, this.#notice, list, people);
    middle.append(banner, message);
    low.append(prompt, this.#prompts, slots, chat);
    root.append(
      flash,
      this.stick,
      top,
      said,
      middle,
      this.#meter,
      this.#help,
      emotes,
      intro,
      stickHint,
      this.#touch,
      low,
    );
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
    this.#notice.textContent = text;
    this.#notice.hidden = text === "";
    this.#noticeTimer = setTimeout(() => {
      this.#notice.hidden = true;
    }, NOTICE_MS);
  }

  /** The line that {@link WorldHud.say} shows now; empty for none. */
  get notice(): string {
    return this.#notice.hidden ? "" : (this.#notice.textContent ?? "");
  }

  /** Carries out a command of the page: opens the chat, or shows the keys. */
  run(command: Command): void {
    if (command === "chat") this.chat.open();
    else if (command === "help") flipHelp(this.#intro, this.#keys);
    else if (command === "emotes") this.#emotes.flip();
    else if (command === "begin") this.#intro.hide();
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
    this.#voiceOption.hidden = !passesVoices(this.#world.definition);
    const kinds = this.#world.definition?.kinds ?? [];
    const hasEmotes = kinds.some(({ attributes }) => attributes.some(({ name }) => name === "emote"));
    for (const toggle of this.#emoteToggles) toggle.hidden = !hasEmotes;
    this.#keys.hasWalkers = hasWalkers(this.#world);
    this.#nameControls();
    this.#buttons.offer(bindings.map(({ action, label }) => ({ trigger: buttonOf(action), label })));
  }

  /** Shows the actions that can be done now: those with a target before the others. */
  setPrompts(offers: readonly Binding[], others: readonly Binding[]): void {
    const shown = promptedActions(offers, others);
    const controls = this.listener?.controls();
    const text = [controls?.device, ...[...offers, ...others].map(({ action }) => action)].join(" ");
    if (text === this.#promptText) return;
    this.#promptText = text;
    this.#prompts.replaceChildren(
      ...keyedActions(shown, controls).map(({ key, label }) => keyLine(key, label)),
    );
    this.#buttons.mark(triggersOf(offers), triggersOf(others));
  }

  /** Shows the charge of an action, 0 to 1; `undefined` hides it. */
  setCharge(share: number | undefined): void {
    this.#meter.hidden = share === undefined;
    this.#fill.style.scale = `${share ?? 0} 1`;
  }

  dispose(): void {
    clearTimeout(this.#noticeTimer);
    this.#abort.abort();
    this.element.remove();
  }

  #listen(): void {
    const world = this.#world;
    const { signal } = this.#abort;
    const options = { signal };
    for (const type of ["joined", "renamed", "left"] as const) {
      world.on(type, () => this.#showPeople(), options);
    }
    world.on("screen", () => this.#showScreen(), options);
    world.on("status", () => this.#showStatus(), options);
    world.on("welcome", ({ world, isResumed }) => isResumed || void this.#introduce(world), options);
    world.on("snapshot", () => this.connection.update(world.status, world.connection), options);
    world.on(
      "error",
      ({ error, retryInMs }) => {
        if (retryInMs !== undefined) return this.connection.ended(error);
        const { cause, cure } = explainClose(error);
        this.say(`${cause} ${cure}`);
      },
      options,
    );
    followLines(world, this, signal);
  }

  /** Names the controls of this device from now on. */
  setDevice(device: DeviceInUse): void {
    this.element.dataset["device"] = device;
    this.#nameControls();
  }

  #nameControls(): void {
    const controls = this.listener?.controls() ?? KEYBOARD;
    this.#keys.define(controls, lookHints(controls.keymap));
    this.#intro.update();
  }

  /** Shows the goal and the first steps of a world, if the server lists it. */
  async #introduce(name: string): Promise<void> {
    const { signal } = this.#abort;
    const worlds = await worldsOf(this.#world.serverUrl, { signal }).catch(() => []);
    if (signal.aborted) return;
    this.#intro.define(worlds.find((world) => world.name === name));
    this.#intro.show();
  }

  #createIntro(card: HTMLElement, help: HTMLElement): IntroCard {
    const [world, goal, how] = [part("p", "intro-world"), part("h2", ""), part("ul", "")];
    const [touch, row, again, close] = [part("p", ""), part("p", "row"), part("small", ""), button("")];
    touch.textContent = pageTexts.introTouch;
    again.textContent = pageTexts.introAgain;
    close.textContent = pageTexts.introClose;
    row.append(again, close);
    card.append(world, goal, how, touch, row);
    card.hidden = true;
    card.setAttribute("role", "status");
    const elements = { card, world, goal, how, touch, close, help };
    return new IntroCard(elements, () => this.listener?.controls(), this.#abort.signal);
  }

  #showPeople(): void {
    const count = peopleIn(this.#world).length;
    const text = count > 1 ? pageTexts.people(count) : pageTexts.onlyYou;
    if (this.#toggle.textContent !== text) this.#toggle.textContent = text;
    this.peopleList.update();
  }

  #showStatus(): void {
    this.connection.update(this.#world.status, this.#world.connection);
  }

  #showScreen(): void {
    this.#screens.invalidate();
    this.#screens.update(this.#world.screen);
  }

  #chatButton(): HTMLElement {
    const chat = button("");
    chat.textContent = pageTexts.chat;
    chat.addEventListener("click", () => this.listener?.do("chat"));
    return chat;
  }

  #jumpButton(): HTMLElement {
    const jump = button("");
    jump.textContent = pageTexts.jump;
    onTouchButton(
      jump,
      () => this.listener?.jump(true),
      () => this.listener?.jump(false),
    );
    return jump;
  }
}

function createChat(): [HTMLElement, HTMLElement, HTMLFormElement, HTMLInputElement] {
  const [chat, log, form] = [part("section", "chat"), part("ol", "log"), part("form", "")];
  const spoken = part("div", "");
  const input = document.createElement("input");
  input.maxLength = 300;
  input.placeholder = pageTexts.pressToChat;
  input.setAttribute("aria-label", pageTexts.chat);
  input.enterKeyHint = "send";
  spoken.setAttribute("role", "log");
  spoken.append(log);
  form.append(input);
  chat.append(spoken, form);
  return [chat, log, form, input];
}

function triggersOf(bindings: readonly Binding[]): ReadonlySet<string> {
  return new Set(bindings.map(({ action }) => buttonOf(action)));
}

function part<K extends keyof HTMLElementTagNameMap>(tag: K, classes: string): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  made.className = classes;
  return made;
}

function button(classes: string): HTMLButtonElement {
  const made = part("button", classes);
  made.type = "button";
  return made;
}

function checkbox(): HTMLInputElement {
  const made = document.createElement("input");
  made.type = "checkbox";
  return made;
}

/** A checkbox with its text. */
function option(box: HTMLInputElement, text: string): HTMLElement {
  const label = document.createElement("label");
  label.append(box, ` ${text}`);
  return label;
}

function keyLine(key: string, text: string): HTMLElement {
  const line = part("div", "panel");
  const cap = document.createElement("kbd");
  cap.textContent = key;
  line.append(cap, ` ${text}`);
  return line;
}
