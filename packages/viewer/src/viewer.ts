import type { WorldControls } from "@nowcast/page";
import { joinInBrowser, Portals, WorldStage } from "@nowcast/page/internal";
import type { WorldView } from "@nowcast/three";
import type { WorldScene } from "@nowcast/three/internal";
import { Appearance } from "./avatar/appearance.js";
import { element } from "./dom.js";
import { PageHud } from "./hud/page-hud.js";
import type { PageAddress } from "./page-address.js";
import { Picture } from "./scene/picture.js";
import { Veil } from "./scene/veil.js";
import { type Settings, saveSettings } from "./settings.js";
import { Backdrop } from "./start/backdrop.js";
import { NO_LISTENER, type ViewerListener } from "./viewer-listener.js";

/** The options of a join, from the page's address. */
type Entry = Pick<PageAddress, "carrier" | "token">;

/** The client, which creates all its parts and connects them. `frame-loop.ts` lists the steps of a frame. */
export class Viewer {
  readonly settings: Settings;
  readonly picture: Picture;
  readonly stage: WorldStage;
  readonly scene: WorldScene;
  readonly controls: WorldControls;
  readonly appearance = new Appearance(this);
  readonly hud: PageHud;
  readonly backdrop: Backdrop;
  /** Shows the last picture until the next world is drawn. */
  readonly veil: Veil;
  listener: ViewerListener = NO_LISTENER;
  readonly #portals = new Portals((room) => this.listener.sentTo(room));
  #address = "";
  #entry: Entry | undefined;
  #left = new AbortController();

  constructor(canvas: HTMLCanvasElement, settings: Settings, iceServers: readonly RTCIceServer[] = []) {
    this.settings = settings;
    this.picture = new Picture(canvas, settings);
    this.hud = new PageHud(canvas, {
      joinAgain: () => this.#join(),
      anotherRoom: () => this.listener.anotherRoom(),
      change: (changes) => this.change(changes),
      welcomed: (room, world) => this.listener.welcomed(room, world),
      moved: (atMs) => this.listener.momentShown(new Date(atMs).toISOString()),
      leave: () => this.listener.present(),
    });
    const { renderer, detail } = this.picture;
    this.stage = new WorldStage({
      ...{ renderer, detail, hud: this.hud, iceServers, panels: document.body },
      labels: element("labels", HTMLElement),
    });
    this.scene = this.stage.drawn;
    this.controls = this.stage.controls;
    this.backdrop = new Backdrop(this.scene);
    this.veil = new Veil(this.stage);
    this.picture.attach(this.stage);
    this.#applySettings();
    this.backdrop.show();
  }

  /** The world that this page is in, and its drawing. */
  get view(): WorldView | undefined {
    return this.stage?.view;
  }

  /** Enters a world, or enters it again with other options. */
  enter(address: string, room: string, shareAddress: string, entry: Entry): void {
    this.veil.cover();
    this.backdrop.hide();
    this.hud.show(room, shareAddress);
    this.hud.figures.setVisible(this.settings.hud);
    this.hud.keyBar.setVisible(this.settings.keys);
    this.stage.canvas.inert = false;
    this.#address = address;
    this.#entry = entry;
    this.#join();
  }

  /** Leaves the world. The caller shows the start screen again. */
  leave(): void {
    this.#close();
    this.hud.hide();
    this.stage.canvas.inert = true;
    this.backdrop.show();
  }

  /** Applies and stores new settings; the world is joined again only if necessary. */
  change(changes: Partial<Settings>): void {
    const before = { ...this.settings };
    Object.assign(this.settings, changes);
    saveSettings(this.settings);
    this.#applySettings();
    const world = this.view?.world;
    const { name, networkHz } = this.settings;
    if (!world) return;
    if (before.name !== name && name !== "") world.rename(name);
    if (before.networkHz === networkHz) return;
    // The protocol has no value for the server's own rate, so the page reconnects and omits the rate.
    if (networkHz === 0) this.#join();
    else world.setRate(networkHz);
  }

  #close(): void {
    this.#left.abort();
    this.stage.leave();
    this.hud.clear();
  }

  /** Joins the world at the current address, also again. */
  #join(): void {
    this.veil.cover();
    this.#close();
    const { name, networkHz } = this.settings;
    const { carrier, token } = this.#entry ?? {};
    const world = joinInBrowser(this.#address, {
      ...(carrier === undefined ? {} : { carriers: [carrier] }),
      ...(name === "" ? {} : { name }),
      ...(token === undefined ? {} : { token }),
      ...(networkHz === 0 ? {} : { networkHz }),
    });
    this.#left = new AbortController();
    this.hud.follow(world, this.#left.signal);
    this.stage.enter(world);
    this.#portals.follow(world);
  }

  #applySettings(): void {
    const { settings, picture, controls, stage, hud } = this;
    const { inputs } = controls;
    const { vrWalk: walks, vrSmoothTurn: turnsSmoothly, vrVignette: narrows } = settings;
    picture.applySettings();
    stage.comfort = { walks, turnsSmoothly, narrows };
    stage.sounds.setOn(settings.sound);
    stage.sounds.setVolume(settings.volume);
    inputs.invertLook = settings.invertLook;
    inputs.lookSpeed = settings.lookSpeed;
    inputs.keymap = settings.keymap;
    hud.nameControls();
  }
}
