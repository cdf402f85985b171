import { startLoop } from "@nowcast/three";
import { DAY } from "@nowcast/three/internal";
import type { JoinOptions, World } from "nowcast/world";
import { Color, WebGLRenderer } from "three";
import { WorldHud } from "./hud/world-hud.js";
import { joinInBrowser, WorldStage } from "./world-stage.js";
import type { HeadsetComfort } from "./xr/headset.js";

/** Without specificity, so that the rules of the page take precedence. */
const LABEL_STYLE = `
:where(.nowcast-labels) { font: 600 15px system-ui, sans-serif; color: #fff; }
:where(.nowcast-labels .tag) { border-radius: 1em; padding: 1px 10px 2px; background: rgb(16 22 36 / 58%); }
:where(.nowcast-labels .tag.speaking) { background: rgb(42 127 134 / 90%); }
:where(.nowcast-labels .bubble) { border-radius: 10px; padding: 4px 10px; background: rgb(16 22 36 / 78%);
  overflow-wrap: anywhere; }
`;

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
export class WorldPage extends WorldStage {
  readonly world: World;
  readonly hud: WorldHud | undefined;
  readonly #labels: HTMLElement;
  readonly #stopLoop: () => void;

  /** `container` needs a size and a position, such as `position: relative`. */
  constructor(container: HTMLElement, url: string | URL, options: WorldPageOptions = {}) {
    const { hud: hasHud = true, sky, sound = true, comfort, iceServers, ...join } = options;
    const renderer = new WebGLRenderer({ antialias: true });
    renderer.setPixelRatio(Math.min(2, window.devicePixelRatio));
    const canvas = renderer.domElement;
    canvas.style.cssText = "display:block;width:100%;height:100%;touch-action:none;outline-offset:-2px";
    const labels = document.createElement("div");
    labels.style.cssText = "position:absolute;inset:0;overflow:hidden;pointer-events:none";
    labels.className = "nowcast-labels";
    container.append(canvas, labels);
    adoptLabelStyle(container);
    const world = joinInBrowser(url, join);
    const hud = hasHud ? new WorldHud(container, world) : undefined;
    super({
      ...{ renderer, labels, hud, iceServers, server: world.serverUrl },
      panels: hasHud ? container : undefined,
      detail: { bevelSegments: 2, rich: true, grass: true },
    });
    this.world = world;
    this.hud = hud;
    this.#labels = labels;
    if (comfort) this.comfort = comfort;
    this.sounds.setOn(sound);
    if (sky === undefined) this.sky.setDefault(DAY);
    else this.scene.background = new Color(sky);
    this.enter(world);
    this.#stopLoop = startLoop(renderer, (frame) => this.drawFrame(frame));
  }

  /** Leaves the world and removes everything from the container. */
  override dispose(): void {
    this.#stopLoop();
    super.dispose();
    this.hud?.dispose();
    this.renderer.dispose();
    this.canvas.remove();
    this.#labels.remove();
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
