import { type Color, FogExp2, type Scene, type Texture, type WebGLRenderer } from "three";
import type { Sun } from "../sun.js";
import { SkyDome } from "./sky-dome.js";
import { DAY, type SkyLook } from "./sky-look.js";
import { Surroundings } from "./surroundings.js";
import { readSky, WorldSky } from "./world-sky.js";

/**
 * Draws the sky of a world (`world.sky` in `docs/how-to/pages.md`) in a scene: a painted sky, fog, the light of the hour, and
 * the sea. A world without a sky and without a sea leaves the scene as it was, unless the page sets a look of its own.
 *
 * ```ts
 * const backdrop = new SkyBackdrop(scene, renderer, sun);
 * world.on("screen", ({ place }) => place === SKY_PLACE && backdrop.set(world.screen.get(SKY_PLACE)));
 * // In each frame:
 * backdrop.update(seconds, view.scene.sea);
 * ```
 */
export class SkyBackdrop {
  readonly #scene: Scene;
  readonly #renderer: WebGLRenderer;
  readonly #sun: Sun;
  readonly #dome = new SkyDome();
  readonly #fog = new FogExp2(0xffffff);
  readonly #sky = new WorldSky((look) => this.#show(look));
  readonly #onLook: ((look: SkyLook) => void) | undefined;
  /** The look without a sky of the world; `undefined` if the scene then stays as it was. */
  #default: SkyLook | undefined;
  readonly #abort = new AbortController();
  /** The sea and the hills around it, since the first sea. */
  #surroundings: Surroundings | undefined;
  #waveSeconds = 0;
  /** The drawn look of the world's sky. */
  #look: SkyLook | undefined;
  /** The scene's own background and fog, while the sky of a world replaces them. */
  #own: { readonly background: Color | Texture | null; readonly fog: Scene["fog"] } | undefined;

  /** `onLook` is called with each look that is drawn. */
  constructor(scene: Scene, renderer: WebGLRenderer, sun: Sun, onLook?: (look: SkyLook) => void) {
    this.#scene = scene;
    this.#onLook = onLook;
    this.#renderer = renderer;
    this.#sun = sun;
    // The painted sky is lost together with the graphics context.
    const { signal } = this.#abort;
    renderer.domElement.addEventListener("webglcontextrestored", () => this.#paint(), { signal });
  }

  /** Sets the look that is drawn while the world sets no sky. */
  setDefault(look: SkyLook): void {
    this.#default = look;
    this.#sky.setDefault(look);
  }

  /** Sets the value of the place `SKY_PLACE` on screens; `undefined` for none. */
  set(value: unknown): void {
    this.#sky.set(readSky(value));
  }

  /**
   * Glides to the newest hour. The time since the last frame is in seconds, and the height of the sea around the world in metres.
   * The waves do not move if `isStill`, for users who prefer reduced motion. `land` is the height of the ground's underside, for
   * hills around a world without a sea.
   */
  update(seconds: number, sea?: number, isStill = false, land?: number): void {
    this.#sky.update(seconds);
    this.#waveSeconds += isStill ? 0 : seconds;
    if ((sea ?? land) !== undefined) this.#surroundings ??= this.#addSurroundings();
    this.#surroundings?.setLevel(sea, land);
    this.#surroundings?.update(this.#waveSeconds);
  }

  dispose(): void {
    this.#abort.abort();
    this.#sky.set(undefined);
    this.#dome.dispose();
    this.#surroundings?.group.removeFromParent();
    this.#surroundings?.dispose();
  }

  #addSurroundings(): Surroundings {
    const surroundings = new Surroundings();
    surroundings.setLook(this.#look ?? DAY);
    this.#scene.add(surroundings.group);
    return surroundings;
  }

  #show(look: SkyLook): void {
    this.#surroundings?.setLook(look);
    // Without a sky of the world, `WorldSky` shows its default.
    if (look === DAY && this.#default === undefined) this.#restore();
    else this.#draw(look);
  }

  #draw(look: SkyLook): void {
    const scene = this.#scene;
    this.#own ??= { background: scene.background, fog: scene.fog };
    scene.add(this.#dome.mesh);
    // The background below the horizon.
    scene.background = look.horizon;
    scene.fog = this.#fog;
    this.#fog.color.copy(look.horizon);
    this.#fog.density = look.fogDensity;
    this.#sun.setDaylight(look);
    this.#look = look;
    this.#paint();
    this.#onLook?.(look);
  }

  #paint(): void {
    if (this.#look !== undefined) this.#dome.paint(this.#renderer, this.#look);
  }

  #restore(): void {
    if (this.#own === undefined) return;
    this.#scene.background = this.#own.background;
    this.#scene.fog = this.#own.fog;
    this.#own = this.#look = undefined;
    this.#dome.mesh.removeFromParent();
    this.#sun.setDaylight();
  }
}
