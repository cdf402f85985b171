import { NowcastError } from "../errors/nowcast-error.js";
import { isSameValue } from "./same-value.js";

/** Values on one client's screen, for all and for itself (`spec/WORLD.md`, section 6). */
export const SCREENS_MAX = 4_096;

/** What stands where on the screen of one player. */
export class ScreenTable {
  /** What is shown: the player's own value, or else the one for all. */
  readonly shown = new Map<string, unknown>();
  readonly #forAll = new Map<string, unknown>();
  readonly #personal = new Map<string, unknown>();

  /** Whether something else is shown there now. `null` clears. Throws when there would be too many values. */
  put(place: string, isPersonal: boolean, value: unknown): boolean {
    const values = isPersonal ? this.#personal : this.#forAll;
    if (value === null) values.delete(place);
    else values.set(place, value);
    if (this.#forAll.size + this.#personal.size > SCREENS_MAX) {
      throw new NowcastError("peer-misbehaved", `a screen of more than ${SCREENS_MAX} values`, {
        code: "limit_exceeded",
      });
    }
    const now = this.#personal.get(place) ?? this.#forAll.get(place);
    if (isSameValue(this.shown.get(place), now)) return false;
    if (now === undefined) this.shown.delete(place);
    else this.shown.set(place, now);
    return true;
  }

  /** Clears everything, and returns the places where something stood. */
  clear(): string[] {
    const places = [...this.shown.keys()];
    for (const values of [this.shown, this.#forAll, this.#personal]) values.clear();
    return places;
  }
}
