import {
  type Actions,
  ChatPanel,
  Devices,
  EmoteMenu,
  Highlights,
  IntroCard,
  KeyBar,
  LocalAvatar,
  OrbitCamera,
  PeopleList,
  pageTexts,
  ScreenTexts,
  Sounds,
  VoiceToggle,
} from "@nowcast/page";
import type { Headset } from "@nowcast/page/headset";
import {
  type Actor,
  PitchSender,
  Portals,
  type Project,
  projectOver,
  Staging,
  WorldUi,
} from "@nowcast/page/internal";
import type { WorldView } from "@nowcast/three";
import type { WorldScene } from "@nowcast/three/internal";
import { Appearance } from "./avatar/appearance.js";
import { Figures } from "./hud/figures.js";
import { Hud } from "./hud/hud.js";
import { PastPanel } from "./hud/past-panel.js";
import { RulesConsole } from "./hud/rules-console.js";
import { GyroscopeToggle } from "./input/gyroscope-toggle.js";
import { TouchPad } from "./input/touch-pad.js";
import { createActions } from "./page-actions.js";
import { createInputs, flipHelp, sayLine } from "./page-commands.js";
import * as elements from "./page-elements.js";
import { peopleListPageOf } from "./page-people.js";
import { applySettings } from "./page-settings.js";
import { followWindow } from "./page-window.js";
import { Picture } from "./scene/picture.js";
import type { Stage } from "./scene/stage.js";
import { type Settings, saveSettings } from "./settings.js";
import { Backdrop } from "./start/backdrop.js";
import { NO_LISTENER, type ViewerListener } from "./viewer-listener.js";
import { type Entry, Visit } from "./visit.js";
import { voicePageOf } from "./voice/voice-page.js";
import { words } from "./words.js";
import { clearWorld, type EventParts, WorldEvents } from "./world-events.js";

/** The client, which creates all its parts and connects them. `frame-loop.ts` lists the steps of a frame. */
export class Viewer implements EventParts {
  readonly settings: Settings;
  readonly picture: Picture;
  readonly stage: Stage;
  readonly scene: WorldScene;
  readonly camera: OrbitCamera;
  readonly inputs = createInputs(this);
  readonly avatar = new LocalAvatar(this);
  readonly appearance = new Appearance(this);
  readonly pitch = new PitchSender();
  readonly emotes = new EmoteMenu(...elements.emoteElements(), (emote) => {
    if (!this.appearance.emote(emote)) this.hud.say(words.noEmotes);
  });
  readonly hud: Hud;
  readonly figures = new Figures((visible) => this.change({ hud: visible }));
  readonly actions: Actions;
  readonly peopleList: PeopleList;
  readonly highlights = new Highlights(elements.highlightElements());
  readonly voice: VoiceToggle;
  readonly chat: ChatPanel;
  readonly keyBar = new KeyBar(
    elements.keyBarElements(),
    (keys) => this.change({ keys }),
    () => flipHelp(this),
  );
  readonly intro = new IntroCard(elements.introElements(), () => ({
    bindings: this.actions.bindings,
    keymap: this.inputs.keymap,
    isTouching: this.devices.touching,
  }));
  readonly console = new RulesConsole(() => this.hud.say(words.rulesFault));
  readonly screens = new ScreenTexts(elements.screenElements(), (key) => {
    this.inputs.press(key);
    this.inputs.lift(key);
  });
  /** The panels of the world that this page is in. */
  ui: WorldUi | undefined;
  readonly project: Project;
  readonly past: PastPanel;
  readonly sounds: Sounds;
  readonly staging: Staging;
  readonly devices: Devices;
  readonly touchPad: TouchPad;
  readonly gyroscope: GyroscopeToggle;
  readonly backdrop: Backdrop;
  /** Set while a user wears a headset. */
  headset: Headset | undefined;
  listener: ViewerListener = NO_LISTENER;
  readonly #portals = new Portals((room) => this.listener.sentTo(room));
  readonly #visit: Visit;

  constructor(canvas: HTMLCanvasElement, settings: Settings, iceServers: readonly RTCIceServer[] = []) {
    this.settings = settings;
    this.picture = new Picture(canvas, settings);
    this.stage = this.picture.stage;
    this.scene = this.picture.scene;
    this.sounds = new Sounds(this.scene.assets);
    this.camera = new OrbitCamera(this.stage.camera);
    this.project = projectOver(canvas, this.stage.camera, (id, out) => this.view?.pose(id, out) === true);
    this.staging = new Staging({
      ...{ scene: this.scene, camera: this.camera, sounds: this.sounds },
      setSky: (value) => this.stage.backdrop.set(value),
    });
    this.stage.scene.add(this.staging.group);
    this.hud = new Hud(canvas, {
      joinAgain: () => this.#visit.rejoin(),
      anotherRoom: () => this.listener.anotherRoom(),
    });
    this.chat = new ChatPanel(
      elements.chatElements(),
      (text) => sayLine(this, text),
      () => canvas.focus({ preventScroll: true }),
    );
    this.past = new PastPanel({
      say: (line) => this.view?.world.chat(line),
      moved: (atMs) => this.listener.momentShown(new Date(atMs).toISOString()),
      leave: () => this.listener.present(),
    });
    this.devices = new Devices(canvas, this.inputs, ...elements.stickElements());
    this.devices.onUnknownPad = (name) => this.hud.say(pageTexts.unknownPad(name));
    this.touchPad = new TouchPad(canvas, this.inputs, this.devices, () => this.intro.update());
    this.gyroscope = new GyroscopeToggle(this.inputs, (text) => this.hud.say(text));
    this.actions = createActions(this, canvas);
    this.peopleList = new PeopleList(elements.peopleElements(), peopleListPageOf(this));
    this.voice = new VoiceToggle(elements.voiceElements(), voicePageOf(this), iceServers);
    this.backdrop = new Backdrop(this.scene);
    this.#visit = new Visit({
      settings,
      scene: this.scene,
      events: new WorldEvents(this),
      clear: () => this.#clear(),
      began: (world) => {
        this.hud.setStatus(world.status);
        this.ui?.dispose();
        this.ui = new WorldUi(document.body, world);
        this.#portals.follow(world);
      },
    });
    followWindow(this);
    applySettings(this);
    this.backdrop.show();
  }

  /** The world that this page is in, and its drawing. */
  get view(): WorldView | undefined {
    return this.#visit?.view;
  }

  /** The shown entity that the local player's input moves: a walking player or another entity. */
  get own(): Actor | undefined {
    return this.avatar.actor;
  }

  /** Enters a world, or enters it again with other options. */
  enter(address: string, room: string, shareAddress: string, entry: Entry): void {
    this.backdrop.hide();
    this.hud.show(room);
    this.peopleList.enter(shareAddress);
    this.figures.setVisible(this.settings.hud);
    this.keyBar.setVisible(this.settings.keys);
    document.body.classList.remove("outside");
    this.#visit.enter(address, entry);
  }

  /** Leaves the world. The caller shows the start screen again. */
  leave(): void {
    void this.headset?.end();
    this.voice.end();
    this.ui?.dispose();
    this.ui = undefined;
    this.#visit.leave();
    this.chat.clear();
    this.intro.hide();
    this.emotes.close();
    this.peopleList.close();
    this.hud.hide();
    document.body.classList.add("outside");
    this.backdrop.show();
  }

  /** Applies and stores new settings; the world is joined again only if necessary. */
  change(changes: Partial<Settings>): void {
    const before = { ...this.settings };
    Object.assign(this.settings, changes);
    saveSettings(this.settings);
    applySettings(this);
    this.#visit.applySettings(before);
  }

  restart(room: string, world: string, isResumed: boolean): void {
    clearWorld(this);
    this.console.clear();
    if (!isResumed) {
      this.avatar.forget();
      this.camera.jump();
    }
    this.listener.welcomed(room, world);
  }

  #clear(): void {
    clearWorld(this);
    this.avatar.forget();
  }
}
