import { SkyBackdrop, Sun, startLoop, WorldView } from "@nowcast/three";
import { DAY, type Frame } from "@nowcast/three/internal";
import { browserIdentity, type JoinOptions, joinWorld, tabSeat, type World } from "nowcast/world";
import { Color, Group, NeutralToneMapping, PerspectiveCamera, Scene, WebGLRenderer } from "three";
import { WorldHud } from "./hud/world-hud.js";
import { Sounds } from "./sounds.js";
import { Staging } from "./staging.js";
import { projectOver } from "./ui/project.js";
import { type Project, WorldUi } from "./ui/world-ui.js";
import { WorldControls } from "./world-controls.js";
import type { HeadsetComfort } from "./xr/headset.js";

/** Without specificity, so that the rules of the page take precedence. */
const LABEL_STYLE = `
:where(.nowcast-labels) { font: 600 15px system-ui, sans-serif; color: #fff; }
:where(.nowcast-labels .tag) { border-radius: 1em; padding: 1px 10px 2px; background: rgb(16 22 36 / 58%); }
:where(.nowcast-labels .tag.speaking) { background: rgb(42 127 134 / 90%); }
:where(.nowcast-labels .bubble) { border-radius: 10px; padding: 4px 10px; background: rgb(16 22 36 / 78%);
  overflow-wrap: anywhere; }
`;
const COMFORT: HeadsetComfort = { walks: true, turnsSmoothly: false, narrows: true };

export interface WorldPageOptions extends JoinOptions {
  /** Whether texts, prompts and chat are shown; true by default. */
  readonly hud?: boolean | undefined;
  /** Colour of the sky, as CSS writes it, while the world sets no sky. By default the sky of a day. */
  readonly sky?: string | undefined;
  /** Comfort settings of players with a headset. By default the stick walks, turns by steps, and narrows the view. */
  readonly comfort?: HeadsetComfort | undefined;
  /** Servers that return a page's public address, for voices across networks. */
  readonly iceServers?: readonly RTCIceServer[] | undefined;
  /** Plays the sounds of the world after the first press of a key or button; true by default. */
  readonly sound?: boolean | undefined;
}

/**
 * A whole page for a world in one element: it joins, predicts, draws, follows with the camera, and offers the world's
 * actions. `<nowcast-world>` is built from this class. A page with other needs can assemble the same parts.
 *
 * ```ts
 * const page = new WorldPage(document.querySelector("main")!, "/r/football", { name: "Ada" });
 * page.world.on("event:goal", () => page.hud?.say("Goal!"));
 * ```
 */
export class WorldPage {
  readonly world: World;
  readonly view: WorldView;
  readonly controls: WorldControls;
  readonly hud: WorldHud | undefined;
  readonly ui: WorldUi | undefined;
  readonly sounds: Sounds;
  readonly renderer: WebGLRenderer;
  readonly scene = new Scene();
  readonly camera = new PerspectiveCamera(60, 1, 0.1, 1200);
  readonly canvas: HTMLCanvasElement;
  /** The parent of the camera: the floor of a headset's room. */
  readonly rig = new Group();
  readonly #comfort: HeadsetComfort;
  readonly #labels = document.createElement("div");
  readonly #sun = new Sun();
  readonly #sky: SkyBackdrop;
  readonly #staging: Staging;
  readonly #project: Project;
  readonly #observer: ResizeObserver;
  readonly #stopLoop: () => void;
  readonly #abort = new AbortController();

  /** `container` needs a size and a position, such as `position: relative`. */
  constructor(container: HTMLElement, url: string | URL, options: WorldPageOptions = {}) {
    const { hud = true, sky, sound = true, comfort = COMFORT, iceServers, ...join } = options;
    this.#comfort = comfort;
    const { signal } = this.#abort;
    this.renderer = new WebGLRenderer({ antialias: true });
    this.renderer.shadowMap.enabled = true;
    this.renderer.setPixelRatio(Math.min(2, window.devicePixelRatio));
    this.canvas = this.renderer.domElement;
    this.canvas.style.cssText = "display:block;width:100%;height:100%;touch-action:none";
    this.#labels.style.cssText = "position:absolute;inset:0;overflow:hidden;pointer-events:none";
    this.#labels.className = "nowcast-labels";
    container.append(this.canvas, this.#labels);
    adoptLabelStyle(container);
    this.world = joinWorld(url, { identity: browserIdentity(), seat: tabSeat(), retry: true, ...join });
    this.world.ready.catch(() => undefined);
    this.view = new WorldView(this.world, { labels: this.#labels });
    this.hud = hud ? new WorldHud(container, this.world) : undefined;
    const { world, view, camera, canvas } = this;
    this.controls = new WorldControls({ canvas, view, camera, hud: this.hud, iceServers });
    this.ui = hud ? new WorldUi(container, this.world) : undefined;
    this.#project = projectOver(canvas, camera, (id, out) => view.pose(id, out));
    this.sounds = new Sounds(view.scene.assets);
    world.on("define", () => this.sounds.define(), { signal });
    world.on("screen", ({ place }) => this.#staging.show(place, world.screen.get(place)), { signal });
    world.on("event", ({ name, payload }) => this.#staging.handleEvent(name, payload), { signal });
    this.sounds.setOn(sound);
    this.renderer.toneMapping = NeutralToneMapping;
    this.#sky = new SkyBackdrop(this.scene, this.renderer, this.#sun, ({ exposure }) => {
      this.renderer.toneMappingExposure = exposure;
    });
    if (sky === undefined) this.#sky.setDefault(DAY);
    else this.scene.background = new Color(sky);
    this.#staging = new Staging({
      ...{ scene: view.scene, camera: this.controls.camera, sounds: this.sounds },
      setSky: (value) => this.#sky.set(value),
    });
    this.rig.add(camera);
    this.scene.add(view.group, this.#sun.group, this.#staging.group, this.rig);
    this.#observer = new ResizeObserver(() => this.#resize(container));
    this.#observer.observe(container);
    this.#resize(container);
    this.#stopLoop = startLoop(this.renderer, (frame) => this.#drawFrame(frame));
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
    const { renderer, scene: root, rig, hud } = this;
    await this.controls.enterHeadset({
      ...{ renderer, root, rig, comfort: this.#comfort },
      get texts() {
        return { chat: hud?.latest ?? [], notice: hud?.notice ?? "" };
      },
    });
  }

  /** Leaves the world and removes everything from the container. */
  dispose(): void {
    this.#stopLoop();
    this.#abort.abort();
    this.#observer.disconnect();
    this.controls.dispose();
    this.hud?.dispose();
    this.ui?.dispose();
    this.sounds.dispose();
    this.#sky.dispose();
    this.#staging.dispose();
    this.view.dispose();
    this.world.close();
    this.renderer.dispose();
    this.canvas.remove();
    this.#labels.remove();
  }

  /** The steps of a frame, in order. */
  #drawFrame({ nowMs, seconds, xr }: Frame): void {
    const { controls, view, camera } = this;
    controls.update(nowMs, seconds, xr);
    if (controls.headset) this.#writeInside(nowMs);
    else view.writeLabels(nowMs, camera);
    this.ui?.update(this.#project);
    const { x, y, z } = controls.focus;
    this.#sky.update(seconds, view.scene.sea, this.#staging.isStill, view.scene.land);
    this.#sun.aim(camera, x, y, z);
    this.#staging.update(seconds, camera, (id, out) => view.pose(id, out));
    if (!controls.isResuming) this.renderer.render(this.scene, camera);
  }

  /** Draws the texts inside of the world, because a headset does not show the page. */
  #writeInside(nowMs: number): void {
    this.view.scene.labels.hide(nowMs);
    this.controls.headset?.write(this.world.avatarId);
  }

  #resize({ clientWidth, clientHeight }: HTMLElement): void {
    const [width, height] = [Math.max(1, clientWidth), Math.max(1, clientHeight)];
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
  }
}

let labelSheet: CSSStyleSheet | undefined;

/** Adds the style of labels to the document or shadow root of the page, once. */
function adoptLabelStyle(container: HTMLElement): void {
  const root = container.getRootNode();
  if (!(root instanceof Document || root instanceof ShadowRoot)) return;
  if (!labelSheet) {
    labelSheet = new CSSStyleSheet();
    labelSheet.replaceSync(LABEL_STYLE);
  }
  if (!root.adoptedStyleSheets.includes(labelSheet)) root.adoptedStyleSheets.push(labelSheet);
}
