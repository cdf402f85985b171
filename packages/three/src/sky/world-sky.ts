import { isFields, within } from "nowcast/internal";
import { DAY, lookAt, type SkyLook } from "./sky-look.js";

/** The screen place that contains the world's sky. */
export const SKY_PLACE = "@sky";

/** The sky that a world shows: `world.sky` in `docs/how-to/pages.md`. */
export interface SkyState {
  /** The hour of the day, 0 to 24. */
  readonly time: number | undefined;
  /** 0 for none, 1 for thick. */
  readonly fog: number | undefined;
}

/** Reads the value of {@link SKY_PLACE}. Fields of other types are passed over. */
export function readSky(value: unknown): SkyState | undefined {
  if (!isFields(value)) return undefined;
  return { time: within(value["time"], 0, 24), fog: within(value["fog"], 0, 1) };
}

/** The glide to another hour takes this many seconds. */
const GLIDE_S = 2;
/** The sky is painted again after a change of this many hours, because painting it is expensive. */
const HOURS_A_PAINT = 0.05;
const DEFAULT_HOUR = 12;

/** Glides from one hour of a world's sky to the next. If the world sets no sky, the page's own light is used. */
export class WorldSky {
  readonly #show: (look: SkyLook) => void;
  #default: SkyLook = DAY;
  #sky: SkyState | undefined;
  #hour: number | undefined;
  #painted: number | undefined;
  #speed = 0;

  constructor(show: (look: SkyLook) => void) {
    this.#show = show;
  }

  /** Sets the look that is drawn while the world sets no sky. */
  setDefault(look: SkyLook): void {
    this.#default = look;
    if (this.#sky === undefined) this.#show(look);
  }

  set(sky: SkyState | undefined): void {
    const before = this.#sky;
    this.#sky = sky;
    if (sky === undefined) {
      this.#hour = this.#painted = undefined;
      if (before !== undefined) this.#show(this.#default);
      return;
    }
    const wanted = sky.time ?? DEFAULT_HOUR;
    // The first sky of a visit is shown at once.
    if (this.#hour === undefined) this.#hour = wanted;
    this.#speed = Math.abs(way(this.#hour, wanted)) / GLIDE_S;
    this.#painted = undefined;
  }

  update(seconds: number): void {
    if (this.#sky === undefined || this.#hour === undefined) return;
    const left = way(this.#hour, this.#sky.time ?? DEFAULT_HOUR);
    const step = Math.sign(left) * Math.min(Math.abs(left), this.#speed * seconds);
    this.#hour = (this.#hour + step + 24) % 24;
    const isOver = Math.abs(left) - Math.abs(step) < 1e-6;
    const painted = this.#painted;
    const isNew = painted === undefined || Math.abs(way(painted, this.#hour)) >= HOURS_A_PAINT;
    if (!isNew && !(isOver && painted !== this.#hour)) return;
    this.#painted = this.#hour;
    this.#show(lookAt(this.#hour, this.#sky.fog));
  }
}

/** The shorter way between two hours, in hours. */
function way(from: number, to: number): number {
  return ((to - from + 36) % 24) - 12;
}
