import { SkyBackdrop, Sun, WorldView } from "@nowcast/three";
import { Assets, type Detail, type Frame, type Pose, WorldScene } from "@nowcast/three/internal";
import {
  browserIdentity,
  type EntityId,
  type JoinOptions,
  joinWorld,
  tabSeat,
  type World,
} from "nowcast/world";
import { Group, NeutralToneMapping, PerspectiveCamera, Scene, type WebGLRenderer } from "three";
import { fovOf } from "./camera.js";
import type { ControlsDisplay } from "./hud/controls-display.js";
import { Sounds } from "./sounds.js";
import { Staging } from "./staging.js";
import { projectOver } from "./ui/project.js";
import { type Project, WorldUi } from "./ui/world-ui.js";
import { WorldControls } from "./world-controls.js";
import type { HeadsetComfort } from "./xr/headset.js";

/** Height of the buttons at the upper edge of a page. */
const BUTTONS_PX = 59;

export interface WorldStageOptions {
  /** Draws on its canvas, which has the size that the style of the page gives to it. */
  readonly renderer: WebGLRenderer;
  /** An element over the picture, of the same size, for the labels of entities. */
  readonly labels: HTMLElement;
  /** Receives the elements of the world's panels; without it, no panels are shown. */
  readonly panels?: HTMLElement | undefined;
  readonly hud?: ControlsDisplay | undefined;
  readonly detail: Detail;
  /** The server from which models, textures and sounds are fetched; by default that of the page. */
  readonly server?: string | undefined;
  readonly iceServers?: readonly RTCIceServer[] | undefined;
}

/** Joins a world as the browser's user, in the place of this tab, and waits for a server that is not there. */
export function joinInBrowser(url: string | URL, options: JoinOptions): World {
  const world = joinWorld(url, { identity: browserIdentity(), seat: tabSeat(), retry: true, ...options });
  // A world that cannot be joined reports the reason by its events.
  world.ready.catch(() => undefined);
  return world;
}

/**
 * The assembly of a page: the picture, its controls, and all that a world stages: sky, weather, lights, sounds, panels and
 * cameras. `WorldPage` is one with texts, and the page of a server has one behind its start screen.
 */
export class WorldStage {
  readonly renderer: WebGLRenderer;
  readonly canvas: HTMLCanvasElement;
  readonly scene = new Scene();
  readonly camera = new PerspectiveCamera(fovOf(1), 1, 0.1, 1200);
  /** The parent of the camera: the floor of a headset's room. */
  readonly rig = new Group();
  readonly controls: WorldControls;
  readonly sounds: Sounds;
  /** The drawn world; `undefined` while the page is in none. */
  view: WorldView | undefined;
  /** The panels of the world. */
  ui: WorldUi | undefined;
  /** Comfort settings of players with a headset. By default the stick walks, turns by steps, and narrows the view. */
  comfort: HeadsetComfort = { walks: true, turnsSmoothly: false, narrows: true };
  readonly drawn: WorldScene;
  readonly sun = new Sun();
  readonly sky: SkyBackdrop;
  readonly staging: Staging;
  readonly #panels: HTMLElement | undefined;
  readonly #project: Project;
  readonly #poseOf = (id: number, out: Pose): boolean => this.view?.world.pose(id as EntityId, out) === true;
  readonly #observer = new ResizeObserver(() => {
    this.#isResized = true;
  });
  #isResized = true;
  #left = new AbortController();

  constructor({ renderer, labels, panels, hud, detail, server, iceServers }: WorldStageOptions) {
    this.renderer = renderer;
    this.canvas = renderer.domElement;
    this.#panels = panels;
    renderer.shadowMap.enabled = true;
    renderer.toneMapping = NeutralToneMapping;
    const { canvas, camera, scene } = this;
    this.drawn = new WorldScene({ detail, labels, assets: new Assets(server) });
    this.drawn.labels.topPx = BUTTONS_PX;
    this.sounds = new Sounds(this.drawn.assets);
    this.controls = new WorldControls({ canvas, camera, scene: this.drawn, hud, iceServers });
    this.sky = new SkyBackdrop(scene, renderer, this.sun, ({ exposure }) => {
      renderer.toneMappingExposure = exposure;
      renderer.shadowMap.needsUpdate = true;
    });
    this.staging = new Staging({
      ...{ scene: this.drawn, camera: this.controls.camera, sounds: this.sounds },
      setSky: (value) => this.sky.set(value),
    });
    this.#project = projectOver(canvas, camera, this.#poseOf);
    this.rig.add(camera);
    scene.add(this.drawn.group, this.sun.group, this.staging.group, this.rig);
    this.#observer.observe(canvas);
  }

  /** Shows a world, instead of the previous one. */
  enter(world: World): void {
    this.leave();
    this.view = new WorldView(world, { scene: this.drawn });
    this.#left = new AbortController();
    const { staging, sounds } = this;
    const on: World["on"] = (type, listener) => world.on(type, listener, { signal: this.#left.signal });
    // After a reconnect, the server may be another one.
    on("welcome", () => staging.clear());
    on("define", () => sounds.define());
    on("screen", ({ place }) => staging.show(place, world.screen.get(place)));
    on("event", ({ name, payload }) => staging.handleEvent(name, payload));
    if (this.#panels) this.ui = new WorldUi(this.#panels, world);
    this.controls.enter(this.view);
  }

  /** Closes the world and removes everything that is shown of it. */
  leave(): void {
    this.#left.abort();
    this.controls.leave();
    this.ui?.dispose();
    this.view?.dispose();
    this.view?.world.close();
    this.view = this.ui = undefined;
    this.staging.clear();
  }

  /**
   * Shows the world in a headset. Call it in the handler of a click, because browsers allow it only there. Rejected if the
   * browser has no headset, or the user refuses. Players see each other's heads and hands in worlds that have kinds for
   * them: "Headsets" in `docs/how-to/headsets.md`.
   *
   * ```ts
   * button.addEventListener("click", () => page.enterHeadset().catch((error) => page.hud?.say(String(error))));
   * ```
   */
  async enterHeadset(): Promise<void> {
    const stage = this;
    const { renderer, scene: root, rig } = this;
    await this.controls.enterHeadset({
      ...{ renderer, root, rig },
      get comfort() {
        return stage.comfort;
      },
      ended: () => {
        this.#isResized = true;
      },
    });
  }

  /** The steps of a frame, in order. */
  drawFrame({ nowMs, seconds, xr }: Frame): void {
    const { controls, view, camera, drawn, staging } = this;
    if (this.#isResized) this.#resize();
    controls.update(nowMs, seconds, xr);
    // A headset does not show the page, so the texts are drawn inside of the world.
    if (controls.headset) drawn.labels.hide(nowMs);
    else drawn.updateLabels(nowMs, camera, view?.world.avatarId);
    controls.headset?.write(view?.world.avatarId);
    this.ui?.update(this.#project);
    this.sky.update(seconds, drawn.sea, staging.isStill, drawn.land);
    const { x, y, z } = controls.focus;
    this.sun.aim(camera, x, y, z);
    staging.update(seconds, camera, this.#poseOf);
    if (!controls.isResuming) this.renderer.render(this.scene, camera);
  }

  /** Leaves the world and frees everything. The renderer stays. */
  dispose(): void {
    this.leave();
    this.#observer.disconnect();
    this.controls.dispose();
    this.sounds.dispose();
    this.sky.dispose();
    this.staging.dispose();
    this.sun.dispose();
    this.drawn.dispose();
  }

  /** The size of a headset does not depend on the page. */
  #resize(): void {
    if (this.renderer.xr.isPresenting) return;
    this.#isResized = false;
    const { canvas, camera } = this;
    const [width, height] = [Math.max(1, canvas.clientWidth), Math.max(1, canvas.clientHeight)];
    this.renderer.setSize(width, height, false);
    camera.aspect = width / height;
    camera.fov = fovOf(camera.aspect);
    camera.updateProjectionMatrix();
  }
}
