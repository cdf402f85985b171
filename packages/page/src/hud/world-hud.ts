import type { Binding } from "nowcast/internal";
import type { World } from "nowcast/world";
import { pageTexts } from "../texts.js";
import { passesVoices } from "../voice/voice-toggle.js";
import { Hud, type HudElements } from "./hud.js";
import { HUD_STYLE } from "./hud-style.js";

/**
 * The texts over a world's picture: people, score, clock, message, prompts, chat, connection, controls, and buttons to
 * touch. It fills its container, which needs a position, and follows the world by itself. It is assembled from the parts of
 * this package that any display can use: {@link ScreenTexts}, {@link ChatPanel}, {@link PeopleList}, {@link KeyBar},
 * {@link Highlights}, {@link ConnectionBanner} and {@link TouchButtons}.
 */
export class WorldHud extends Hud {
  readonly element: HTMLElement;
  readonly #abort: AbortController;
  readonly #voiceOption: HTMLElement;

  constructor(container: HTMLElement, world: World) {
    const abort = new AbortController();
    const { elements, voiceOption } = createElements();
    super(elements, undefined, abort.signal);
    this.element = elements.root;
    this.#voiceOption = voiceOption;
    this.#abort = abort;
    container.append(this.element);
    this.follow(world, abort.signal);
    world.on("welcome", ({ world, isResumed }) => isResumed || void this.introduce(world), {
      signal: abort.signal,
    });
    this.setActions([]);
  }

  override setActions(bindings: readonly Binding[]): void {
    super.setActions(bindings);
    this.#voiceOption.hidden = !passesVoices(this.world?.definition);
  }

  dispose(): void {
    this.clear();
    this.#abort.abort();
    this.element.remove();
  }
}

/** The elements of the display, in a shadow root, and the row with the switch for voices. */
function createElements(): { readonly elements: HudElements; readonly voiceOption: HTMLElement } {
  const element = part("div", "");
  // `WorldControls` sets another device.
  element.dataset["device"] = "keyboard";
  const root = element.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(HUD_STYLE);
  root.adoptedStyleSheets = [sheet];
  const [flash, banner, connection, notice, refusal] = [
    part("div", "flash"),
    part("p", "panel message"),
    part("p", "panel notice"),
    part("p", "panel notice"),
    part("p", "panel notice"),
  ];
  const [board, score, clock] = [part("div", "panel board"), part("p", ""), part("p", "")];
  const [message, prompt, worldNotice, list, slots] = [
    part("p", "panel message"),
    part("p", "panel aim"),
    part("p", "panel notice"),
    part("dl", "panel list"),
    part("div", "slots"),
  ];
  const [people, peopleLines, count] = [
    part("section", "panel crowd"),
    part("ul", ""),
    button("panel people"),
  ];
  const [keys, offers, emotes] = [
    part("div", "panel help"),
    part("p", "panel"),
    part("section", "panel emotes"),
  ];
  const charge = part("div", "panel meter");
  charge.append(part("div", ""));
  charge.setAttribute("role", "meter");
  charge.setAttribute("aria-label", pageTexts.charge);
  offers.setAttribute("aria-hidden", "true");
  const help = button("panel", "?", pageTexts.help);
  const emoteToggles = [
    button("panel emote", "☺", pageTexts.emotes),
    button("emote", "☺", pageTexts.emotes),
  ] as const;
  for (const spoken of [score, message, banner, prompt, connection, notice, refusal, worldNotice])
    spoken.setAttribute("role", "status");
  for (const empty of [banner, people, keys, charge, notice, refusal, offers, emotes]) empty.hidden = true;
  const chat = createChat();
  const intro = createIntro();
  const [stick, knob] = [part("div", "stick"), part("div", "knob")];
  stick.append(knob);
  const stickHint = part("p", "stick-hint");
  stickHint.textContent = pageTexts.moveHint;
  stickHint.setAttribute("aria-label", pageTexts.stick);
  const touch = {
    actions: part("div", "actions"),
    jump: button("", pageTexts.jump),
    chat: button("", pageTexts.chat),
  };
  const talk = within("talk", emoteToggles[1], touch.chat);
  board.append(score, clock);
  const microphone = button("panel", pageTexts.microphone);
  microphone.hidden = true;
  const voice = { toggle: checkbox(), microphone, list: part("ul", "") };
  const gyroscope = checkbox();
  const voiceOption = option(voice.toggle, pageTexts.voiceOn);
  const lookOption = option(gyroscope, pageTexts.gyroscope);
  lookOption.className = "gyroscope";
  people.append(peopleLines, voiceOption, voice.list, lookOption);
  root.append(
    flash,
    stick,
    within("top", count, board, within("corner", microphone, emoteToggles[0], help)),
    within("said", prompt, connection, notice, list, people),
    within("middle", banner, message),
    charge,
    keys,
    emotes,
    intro.card,
    stickHint,
    within("touch", talk, touch.actions, touch.jump),
    within("low", refusal, worldNotice, within("prompts", offers), slots, chat.panel),
  );
  const elements: HudElements = {
    root: element,
    stick,
    knob,
    voice,
    gyroscope,
    chat,
    count,
    emotes,
    emoteToggles,
    notice,
    refusal,
    charge,
    touch,
    offers,
    connection,
    screens: { board, score, clock, message, prompt, notice: worldNotice, list, slots },
    people: { panel: people, list: peopleLines, toggle: count },
    highlights: { banner, flash },
    keys: { bar: keys, toggle: help },
    intro: { ...intro, help },
  };
  return { elements, voiceOption };
}

function createIntro(): Omit<HudElements["intro"], "help"> {
  const [card, world, goal, how] = [
    part("section", "panel intro"),
    part("p", "intro-world"),
    part("h2", ""),
    part("ul", ""),
  ];
  const [touch, row, again] = [part("p", ""), part("p", "row"), part("small", "")];
  const close = button("", pageTexts.introClose);
  touch.textContent = pageTexts.introTouch;
  again.textContent = pageTexts.introAgain;
  row.append(again, close);
  card.append(world, goal, how, touch, row);
  card.hidden = true;
  card.setAttribute("role", "status");
  return { card, world, goal, how, touch, close };
}

function createChat(): HudElements["chat"] {
  const [panel, log, form] = [part("section", "chat"), part("ol", "log"), part("form", "")];
  const spoken = part("div", "");
  const input = document.createElement("input");
  input.maxLength = 300;
  input.placeholder = pageTexts.pressToChat;
  input.setAttribute("aria-label", pageTexts.chat);
  input.enterKeyHint = "send";
  spoken.setAttribute("role", "log");
  spoken.append(log);
  form.append(input);
  panel.append(spoken, form);
  return { panel, log, form, input };
}

function part<K extends keyof HTMLElementTagNameMap>(tag: K, classes: string): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  made.className = classes;
  return made;
}

function within(classes: string, ...children: HTMLElement[]): HTMLElement {
  const made = part("div", classes);
  made.append(...children);
  return made;
}

function button(classes: string, text = "", label?: string): HTMLButtonElement {
  const made = part("button", classes);
  made.type = "button";
  made.textContent = text;
  if (label !== undefined) made.setAttribute("aria-label", label);
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
