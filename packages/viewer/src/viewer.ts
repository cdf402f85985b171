import {
  ChatPanel,
  EmoteMenu,
  Highlights,
  IntroCard,
  KeyBar,
  PeopleList,
  ScreenTexts,
  Sounds,
  WorldControls,
} from "@nowcast/page";
import { flipHelp, Portals, type Project, projectOver, Staging, WorldUi } from "@nowcast/page/internal";
import type { WorldView } from "@nowcast/three";
import type { WorldScene } from "@nowcast/three/internal";
import { Appearance } from "./avatar/appearance.js";
import { Figures } from "./hud/figures.js";
import { Hud } from "./hud/hud.js";
import { PastPanel } from "./hud/past-panel.js";
import { RulesConsole } from "./hud/rules-console.js";
import { PageDisplay } from "./page-display.js";
import * as elements from "./page-elements.js";
import { applySettings } from "./page-settings.js";
import { Picture } from "./scene/picture.js";
import type { Stage } from "./scene/stage.js";
import { type Settings, saveSettings } from "./settings.js";
import { Backdrop } from "./start/backdrop.js";
import { NO_LISTENER, type ViewerListener } from "./viewer-listener.js";
import { type Entry, Visit } from "./visit.js";
import { words } from "./words.js";
import { clearWorld, type EventParts, WorldEvents } from "./world-events.js";

/** The client, which creates all its parts and connects them. `frame-loop.ts` lists the steps of a frame. */
export class Viewer implements EventParts {
  readonly settings: Settings;
  readonly picture: Picture;
  readonly stage: Stage;
  readonly scene: WorldScene;
  readonly controls: WorldControls;
  readonly display: PageDisplay;
  readonly appearance = new Appearance(this);
  readonly emotes = new EmoteMenu(...elements.emoteElements(), (emote) => this.controls.emote(emote));
  readonly hud: Hud;
  readonly figures = new Figures((visible) => this.change({ hud: visible }));
  readonly peopleList = new PeopleList(elements.peopleElements(), this.#peopleListPage());
  readonly highlights = new Highlights(elements.highlightElements());
  readonly chat: ChatPanel;
  readonly keyBar = new KeyBar(
    elements.keyBarElements(),
    (keys) => this.change({ keys }),
    () => flipHelp(this.intro, this.keyBar),
  );
  readonly intro = new IntroCard(elements.introElements(), () => this.display.listener?.controls());
  readonly console = new RulesConsole(() => this.hud.say(words.rulesFault));
  readonly screens = new ScreenTexts(elements.screenElements(), (key) => {
    this.controls.inputs.press(key);
    this.controls.inputs.lift(key);
  });
  /** The panels of the world that this page is in. */
  ui: WorldUi | undefined;
  readonly project: Project;
  readonly past: PastPanel;
  readonly sounds: Sounds;
  readonly staging: Staging;
  readonly backdrop: Backdrop;
  listener: ViewerListener = NO_LISTENER;
  readonly #portals = new Portals((room) => this.listener.sentTo(room));
  readonly #visit: Visit;

  constructor(canvas: HTMLCanvasElement, settings: Settings, iceServers: readonly RTCIceServer[] = []) {
    this.settings = settings;
    this.picture = new Picture(canvas, settings);
    this.stage = this.picture.stage;
    this.scene = this.picture.scene;
    this.sounds = new Sounds(this.scene.assets);
    const { camera } = this.stage;
    this.project = projectOver(canvas, camera, (id, out) => this.view?.pose(id, out) === true);
    this.hud = new Hud(canvas, {
      joinAgain: () => this.#visit.rejoin(),
      anotherRoom: () => this.listener.anotherRoom(),
    });
    this.chat = new ChatPanel(
      elements.chatElements(),
      (text) => this.display.sendLine(text),
      () => canvas.focus({ preventScroll: true }),
    );
    this.past = new PastPanel({
      say: (line) => this.view?.world.chat(line),
      moved: (atMs) => this.listener.momentShown(new Date(atMs).toISOString()),
      leave: () => this.listener.present(),
    });
    this.display = new PageDisplay(this, canvas);
    this.controls = new WorldControls({ canvas, camera, scene: this.scene, hud: this.display, iceServers });
    this.staging = new Staging({
      ...{ scene: this.scene, camera: this.controls.camera, sounds: this.sounds },
      setSky: (value) => this.stage.backdrop.set(value),
    });
    this.stage.scene.add(this.staging.group);
    this.backdrop = new Backdrop(this.scene);
    this.#visit = new Visit({
      settings,
      scene: this.scene,
      events: new WorldEvents(this),
      clear: () => clearWorld(this),
      began: (view) => {
        const { world } = view;
        this.controls.enter(view);
        this.hud.setStatus(world.status);
        this.ui?.dispose();
        this.ui = new WorldUi(document.body, world);
        this.#portals.follow(world);
      },
    });
    window.addEventListener("resize", () => {
      // The size of a headset does not depend on the window.
      if (!this.controls.headset) this.stage.resize();
    });
    applySettings(this);
    this.backdrop.show();
  }

  /** The world that this page is in, and its drawing. */
  get view(): WorldView | undefined {
    return this.#visit?.view;
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
    this.controls.leave();
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

  restart(room: string, world: string): void {
    clearWorld(this);
    this.console.clear();
    this.listener.welcomed(room, world);
  }

  #peopleListPage(): ConstructorParameters<typeof PeopleList>[1] {
    const viewer = this;
    return {
      get world() {
        return viewer.view?.world;
      },
      find: (player) => this.display.listener?.find(player),
      choose: (player, choice) => this.display.listener?.choose(player, choice),
      say: (text) => this.hud.say(text),
    };
  }
}
