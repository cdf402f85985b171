import { SKY_PLACE } from "@nowcast/three";
import {
  createPose,
  type Pose,
  readBurst,
  WEATHER_PLACE,
  WorldLights,
  type WorldScene,
  WorldWeather,
} from "@nowcast/three/internal";
import { Group, type PerspectiveCamera, Vector3 } from "three";
import type { OrbitCamera } from "./camera.js";
import { CAMERA_PLACE, readCamera, readShake } from "./camera-rules.js";
import { readSound, type Sounds } from "./sounds.js";

const EARS = new Vector3();
const AHEAD = new Vector3();
const POSE = createPose();

/** The parts of a page that show what a world stages. */
export interface StagingParts {
  readonly scene: WorldScene;
  readonly camera: OrbitCamera;
  readonly sounds: Sounds;
  /** Shows the sky of the world; `undefined` for the page's own. */
  setSky(value: unknown): void;
}

/**
 * The values on a world's screen and the events of a world that are not texts: the sky, the weather, lights, sounds, bursts, and the
 * camera. Add {@link Staging.group} to the picture.
 */
export class Staging {
  readonly lights = new WorldLights();
  readonly weather = new WorldWeather();
  readonly group = new Group();
  readonly #page: StagingParts;
  readonly #stillness = window.matchMedia("(prefers-reduced-motion: reduce)");

  constructor(page: StagingParts) {
    this.#page = page;
    this.group.add(this.lights.group, this.weather.group);
  }

  /** Whether the user prefers reduced motion. */
  get isStill(): boolean {
    return this.#stillness.matches;
  }

  /** Applies the value at a place of the screen. A place of a text has no effect. */
  show(place: string, value: unknown): void {
    const { camera, sounds } = this.#page;
    if (place === CAMERA_PLACE) return camera.setRules(readCamera(value));
    if (place === SKY_PLACE) return this.#page.setSky(value);
    if (place === WEATHER_PLACE) return this.weather.set(value);
    if (!this.lights.set(place, value)) sounds.loops.set(place, value);
  }

  /** Shows an event of the world, if it is a shake, a burst or a sound. */
  handleEvent(name: string, payload: unknown): void {
    const { scene, camera, sounds } = this.#page;
    if (name === "shake" && !this.isStill) camera.shake(readShake(payload));
    const burst = name === "burst" ? readBurst(payload) : undefined;
    if (burst) scene.burst(burst);
    const sound = name === "sound" ? readSound(payload) : undefined;
    if (sound) sounds.play(sound);
  }

  /** Moves lights, weather and sounds to their places in this frame. `pose` writes the drawn pose of an entity. */
  update(seconds: number, camera: PerspectiveCamera, pose: (id: number, out: Pose) => boolean): void {
    const { sounds } = this.#page;
    const ears = camera.getWorldPosition(EARS);
    const { x, y, z } = camera.getWorldDirection(AHEAD);
    // For users who prefer reduced motion, nothing falls.
    this.weather.group.visible = !this.isStill;
    if (!this.isStill) this.weather.update(seconds, ears);
    this.lights.update(pose, ears);
    sounds.loops.update((id) => (pose(id, POSE) ? POSE.position : undefined));
    sounds.listenAt(ears.x, ears.y, ears.z, x, y, z);
  }

  /** Removes all that the world has set. */
  clear(): void {
    const { camera, sounds } = this.#page;
    this.#page.setSky(undefined);
    this.lights.clear();
    this.weather.set(undefined);
    camera.setRules(undefined);
    sounds.loops.clear();
  }

  dispose(): void {
    this.lights.clear();
    this.weather.dispose();
  }
}
