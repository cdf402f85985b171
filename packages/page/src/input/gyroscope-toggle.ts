import { pageTexts } from "../texts.js";
import type { Gyroscope } from "./gyroscope.js";
import type { InputCollector } from "./input-collector.js";

/**
 * The checkbox of the gyroscope, with which a user looks around by moving the device. The code is loaded when the user checks
 * it. The choice is not stored, because a phone asks again on each visit and requires a tap.
 */
export class GyroscopeToggle {
  readonly #checkbox: HTMLInputElement;
  readonly #inputs: InputCollector;
  readonly #say: (text: string) => void;
  #gyroscope: Gyroscope | undefined;

  constructor(checkbox: HTMLInputElement, inputs: InputCollector, say: (text: string) => void) {
    this.#checkbox = checkbox;
    this.#inputs = inputs;
    this.#say = say;
    checkbox.addEventListener("change", () => void this.#set(checkbox.checked));
  }

  end(): void {
    this.#gyroscope?.end();
    this.#gyroscope = undefined;
    this.#checkbox.checked = false;
  }

  /** Turns the gyroscope on or off. If it cannot be turned on, shows the reason. */
  async #set(isWanted: boolean): Promise<void> {
    if (!isWanted) return this.end();
    const { Gyroscope } = await import("./gyroscope.js");
    const gyroscope = new Gyroscope(this.#inputs);
    const state = await gyroscope.begin();
    if (state !== "on") this.#say(pageTexts.gyroscopeStates[state]);
    // The user may have turned it off again in the meantime.
    if (state === "on" && this.#checkbox.checked) this.#gyroscope = gyroscope;
    else gyroscope.end();
    this.#checkbox.checked = this.#gyroscope !== undefined;
  }
}
