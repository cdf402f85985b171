import type {
  Actions,
  ChatPanel,
  Highlights,
  InputCollector,
  IntroCard,
  KeyBar,
  PeopleList,
  ScreenTexts,
  Sounds,
  VoiceToggle,
} from "@nowcast/page";
import {
  buttonOf,
  hasWalkers,
  peopleIn,
  readTold,
  type Staging,
  shareOutButtons,
} from "@nowcast/page/internal";
import type { WorldScene } from "@nowcast/three/internal";
import type { ActionSource } from "nowcast/internal";
import type { World } from "nowcast/world";
import type { Figures } from "./hud/figures.js";
import type { Hud } from "./hud/hud.js";
import { PAST_PLACE, type PastPanel } from "./hud/past-panel.js";
import type { RulesConsole } from "./hud/rules-console.js";
import type { TouchPad } from "./input/touch-pad.js";
import { words } from "./words.js";

/** Players that appear within this time after the welcome count as having been in the room before. */
const GREETING_MS = 1500;

/** The parts of the page that show events of the world. */
export interface EventParts {
  readonly scene: WorldScene;
  readonly peopleList: PeopleList;
  readonly highlights: Highlights;
  readonly actions: Actions;
  readonly inputs: InputCollector;
  readonly touchPad: TouchPad;
  readonly hud: Hud;
  readonly figures: Figures;
  readonly keyBar: KeyBar;
  readonly intro: IntroCard;
  readonly chat: ChatPanel;
  readonly console: RulesConsole;
  readonly screens: ScreenTexts;
  readonly past: PastPanel;
  readonly staging: Staging;
  readonly sounds: Sounds;
  readonly voice: VoiceToggle;
  /** Starts again in a room, because another server, with another ground, may answer. A resumed player keeps the view. */
  restart(room: string, world: string, isResumed: boolean): void;
}

/** Removes all that the page shows of a world. */
export function clearWorld(page: EventParts): void {
  page.scene.clear();
  page.peopleList.clear();
  page.highlights.clear();
  page.actions.define([]);
  page.inputs.claimed = page.actions.keys;
  page.screens.invalidate();
  page.staging.clear();
  page.past.update(undefined);
}

/** Passes the events of a world to the parts of the page. */
export class WorldEvents {
  readonly #page: EventParts;
  #welcomedAtMs = 0;

  constructor(page: EventParts) {
    this.#page = page;
  }

  /** Follows a world until the signal. */
  follow(world: World, signal: AbortSignal): void {
    const { hud, chat, figures, console, peopleList } = this.#page;
    const on: World["on"] = (type, listener) => world.on(type, listener, { signal });
    on("status", ({ status }) => {
      hud.setStatus(status);
      if (status !== "open") figures.graph.pause();
    });
    on("welcome", (welcome) => {
      this.#welcomedAtMs = performance.now();
      this.#page.restart(welcome.room, welcome.world, welcome.isResumed);
    });
    on("define", ({ definition }) => this.#define(world, definition.actions));
    on("joined", ({ player: { id, name, isProgram } }) => {
      this.#countPeople(world);
      if (!isProgram && id !== world.playerId && this.#isSettled) chat.addEvent(words.isHere(name));
    });
    on("renamed", ({ player: { name, isProgram }, before }) => {
      this.#countPeople(world);
      if (!isProgram) chat.addEvent(words.isNow(before, name));
    });
    on("avatar", () => this.#countPeople(world));
    on("left", ({ player: { id, name, isProgram } }) => {
      this.#countPeople(world);
      const isNews = world.status === "open" && id !== world.playerId;
      if (!isProgram && isNews) chat.addEvent(words.hasLeft(name));
    });
    on("screen", ({ place }) => this.#show(place, world.screen.get(place)));
    on("event", ({ name, payload }) => this.#handle(name, payload));
    on("refused", ({ action, reason }) => {
      const known = this.#page.actions.bindings.find((binding) => binding.action === action);
      hud.say(words.refused(known?.label ?? action, reason));
    });
    on("report", (report) => console.add(report, this.#isSettled));
    on("chat", ({ from, name, text }) => {
      if (peopleList.isBlocked(from)) return;
      const { scene } = this.#page;
      const avatar = world.players.get(from)?.avatarId;
      chat.add(name, scene.crowd.colorOf(avatar), text);
      if (avatar !== undefined) scene.labels.say(avatar, text, performance.now());
    });
    on("missed", ({ lines }) => chat.addEvent(words.linesMissed(lines)));
    on("unsaid", ({ text, reason }) => chat.addEvent(words.unsaid(text, reason)));
    on("notice", ({ text }) => hud.say(text));
    on("snapshot", ({ receivedAtMs }) =>
      figures.graph.record(receivedAtMs, world.display.delayMs, world.stats.bytesPerSecond),
    );
    on("error", ({ error, retryInMs }) => hud.lost(error, retryInMs));
  }

  #define(world: World, facts: readonly ActionSource[]): void {
    const { sounds, actions, inputs, touchPad, keyBar, intro } = this.#page;
    sounds.define();
    actions.define(facts);
    const { bindings } = actions;
    const buttons = bindings.map(({ action, label, charge }) => ({
      trigger: buttonOf(action),
      label,
      isCharged: charge !== undefined,
    }));
    inputs.claimed = actions.keys;
    inputs.padTriggers = shareOutButtons(buttons);
    touchPad.offer(buttons);
    keyBar.hasWalkers = hasWalkers(world);
    keyBar.define(bindings, inputs.keymap);
    intro.update();
  }

  #show(place: string, value: unknown): void {
    const { screens, past, staging } = this.#page;
    screens.invalidate();
    staging.show(place, value);
    if (place === PAST_PLACE) past.update(value);
  }

  #handle(event: string, payload: unknown): void {
    const { voice, staging, highlights, chat } = this.#page;
    staging.handleEvent(event, payload);
    if (voice.handleEvent(event, payload) || highlights.handleEvent(event, payload)) return;
    const told = event === "tell" ? readTold(payload) : undefined;
    if (told !== undefined) chat.addEvent(told);
  }

  /** Whether players that appear have just joined. */
  get #isSettled(): boolean {
    return performance.now() - this.#welcomedAtMs > GREETING_MS;
  }

  #countPeople(world: World): void {
    const { hud, peopleList } = this.#page;
    hud.setPeople(peopleIn(world).length, world.avatarId === undefined);
    peopleList.update();
  }
}
