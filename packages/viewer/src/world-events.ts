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
import type { NowcastError } from "nowcast";
import type { ActionSource } from "nowcast/internal";
import type { Player } from "nowcast/world";
import type { Figures } from "./hud/figures.js";
import type { Hud } from "./hud/hud.js";
import { PAST_PLACE, type PastPanel } from "./hud/past-panel.js";
import type { RulesConsole } from "./hud/rules-console.js";
import type { TouchPad } from "./input/touch-pad.js";
import { words } from "./words.js";
import type { Report, Status, WorldConnection, WorldConnectionListener } from "./world-connection.js";

/** Players that appear within this time after the welcome count as having been in the room before. */
const GREETING_MS = 1500;

/** The parts of the page that show events of the world. */
export interface EventParts {
  readonly connection: WorldConnection | undefined;
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
export class WorldEvents implements WorldConnectionListener {
  readonly #page: EventParts;
  #welcomedAtMs = 0;

  constructor(page: EventParts) {
    this.#page = page;
  }

  statusChanged(status: Status): void {
    const { hud, figures } = this.#page;
    hud.setStatus(status);
    if (status !== "open") figures.graph.pause();
  }

  welcomed(room: string, world: string, isResumed: boolean): void {
    this.#welcomedAtMs = performance.now();
    this.#page.restart(room, world, isResumed);
  }

  defined(facts: readonly ActionSource[]): void {
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
    keyBar.hasWalkers = hasWalkers(this.#page.connection?.world);
    keyBar.define(bindings, inputs.keymap);
    intro.update();
  }

  playerJoined({ id, name, isProgram }: Player): void {
    const { chat, connection } = this.#page;
    this.#countPeople();
    if (!isProgram && id !== connection?.player && this.#isSettled) chat.addEvent(words.isHere(name));
  }

  playerRenamed({ name, isProgram }: Player, before: string): void {
    this.#countPeople();
    if (!isProgram) this.#page.chat.addEvent(words.isNow(before, name));
  }

  playerLeft({ id, name, isProgram }: Player): void {
    const { chat, connection } = this.#page;
    this.#countPeople();
    if (isProgram || connection?.status !== "open" || id === connection.player) return;
    chat.addEvent(words.hasLeft(name));
  }

  avatarChanged(): void {
    this.#countPeople();
  }

  screenChanged(place: string): void {
    const { screens, past, staging, connection } = this.#page;
    screens.invalidate();
    const value = connection?.screen.get(place);
    staging.show(place, value);
    if (place === PAST_PLACE) past.update(value);
  }

  eventReceived(event: string, payload: unknown): void {
    const { voice, staging, highlights, chat } = this.#page;
    staging.handleEvent(event, payload);
    if (voice.handleEvent(event, payload) || highlights.handleEvent(event, payload)) return;
    const told = event === "tell" ? readTold(payload) : undefined;
    if (told !== undefined) chat.addEvent(told);
  }

  refused(action: string, reason: string): void {
    const { actions, hud } = this.#page;
    const label = actions.bindings.find((binding) => binding.action === action)?.label ?? action;
    hud.say(words.refused(label, reason));
  }

  reported(report: Report): void {
    this.#page.console.add(report, this.#isSettled);
  }

  chatted(player: number, name: string, text: string): void {
    const { peopleList, chat, scene, connection } = this.#page;
    if (peopleList.isBlocked(player)) return;
    const avatar = connection?.playerOf(player)?.avatarId;
    chat.add(name, scene.crowd.colorOf(avatar), text);
    if (avatar !== undefined) scene.labels.say(avatar, text, performance.now());
  }

  missed(lines: number): void {
    this.#page.chat.addEvent(words.linesMissed(lines));
  }

  unsaid(text: string, reason: string): void {
    this.#page.chat.addEvent(words.unsaid(text, reason));
  }

  noticed(text: string): void {
    this.#page.hud.say(text);
  }

  snapshotArrived(receivedAtMs: number): void {
    const { connection, figures } = this.#page;
    if (connection) figures.graph.record(receivedAtMs, connection.delayMs, connection.stats.bytesPerSecond);
  }

  lost(error: NowcastError, retryInMs: number | undefined): void {
    this.#page.hud.lost(error, retryInMs);
  }

  /** Whether players that appear have just joined. */
  get #isSettled(): boolean {
    return performance.now() - this.#welcomedAtMs > GREETING_MS;
  }

  #countPeople(): void {
    const { hud, peopleList, connection } = this.#page;
    hud.setPeople(peopleIn(connection?.world).length, connection?.avatar === undefined);
    peopleList.update();
  }
}
