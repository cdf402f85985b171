import type { InputCollector } from "@nowcast/page";
import type { Gyroscope } from "@nowcast/page/gyroscope";
import { words } from "../words.js";

/**
 * Switches the gyroscope, with which a user looks around by moving the phone, on and off. The code is loaded
 * when it is switched on.
 */
export class GyroscopeToggle {
  readonly #inputs: InputCollector;
  readonly #say: (text: string) => void;
  #gyroscope: Gyroscope | undefined;

  constructor(inputs: InputCollector, say: (text: string) => void) {
    this.#inputs = inputs;
    this.#say = say;
  }

  /** Returns whether the gyroscope is on afterwards. If it is not, shows the reason. */
  async set(isWanted: boolean): Promise<boolean> {
    this.#gyroscope?.end();
    this.#gyroscope = undefined;
    if (!isWanted) return false;
    const { Gyroscope } = await import("@nowcast/page/gyroscope");
    const gyroscope = new Gyroscope(this.#inputs);
    const state = await gyroscope.begin();
    if (state === "on") this.#gyroscope = gyroscope;
    else this.#say(words.gyroscopeStates[state]);
    return state === "on";
  }
}
