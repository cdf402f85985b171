import { element } from "../dom.js";
import { oneOf, parseHz } from "../settings.js";
import type { Viewer } from "../viewer.js";
import { KeySettings } from "./key-settings.js";
import { OutfitPicker } from "./outfit-picker.js";

/** The dialog for settings. Each setting takes effect at once. */
export class SettingsPanel {
  readonly #dialog = element("settings", HTMLDialogElement);
  readonly #name = element("set-name", HTMLInputElement);
  readonly #hz = element("set-hz", HTMLSelectElement);
  readonly #quality = element("set-quality", HTMLSelectElement);
  readonly #light = element("set-light", HTMLSelectElement);
  readonly #shadows = element("set-shadows", HTMLInputElement);
  readonly #sound = element("set-sound", HTMLInputElement);
  readonly #volume = element("set-volume", HTMLInputElement);
  readonly #look = element("set-look", HTMLInputElement);
  readonly #invert = element("set-invert", HTMLInputElement);
  readonly #vrWalk = element("set-vr-walk", HTMLInputElement);
  readonly #vrSmoothTurn = element("set-vr-turn", HTMLInputElement);
  readonly #vrVignette = element("set-vr-vignette", HTMLInputElement);
  readonly #keys: KeySettings;
  readonly #outfit: OutfitPicker;
  readonly #viewer: Viewer;

  constructor(viewer: Viewer, onLeave: () => void) {
    this.#viewer = viewer;
    this.#keys = new KeySettings((keymap) => viewer.change({ keymap }));
    this.#outfit = new OutfitPicker(element("set-outfit", HTMLElement), (outfit) =>
      viewer.change({ outfit }),
    );
    element("settings-open", HTMLButtonElement).addEventListener("click", () => this.#open());
    element("set-leave", HTMLButtonElement).addEventListener("click", () => {
      this.#dialog.close();
      onLeave();
    });
    this.#dialog.addEventListener("change", () => this.#apply());
    this.#dialog.addEventListener("click", (event) => {
      // A click outside of the dialog is reported as a click on the dialog element itself.
      if (event.target === this.#dialog) this.#dialog.close();
    });
  }

  #open(): void {
    const { settings } = this.#viewer;
    this.#name.value = settings.name;
    this.#hz.value = String(settings.networkHz);
    // A rate from the page's address may not be among the options.
    if (this.#hz.value === "") this.#hz.add(new Option(String(settings.networkHz), undefined, true, true));
    this.#quality.value = settings.quality;
    this.#light.value = settings.light;
    this.#shadows.checked = settings.shadows;
    this.#sound.checked = settings.sound;
    this.#volume.value = String(settings.volume);
    this.#look.value = String(settings.lookSpeed);
    this.#invert.checked = settings.invertLook;
    this.#vrWalk.checked = settings.vrWalk;
    this.#vrSmoothTurn.checked = settings.vrSmoothTurn;
    this.#vrVignette.checked = settings.vrVignette;
    this.#outfit.show(settings.outfit);
    this.#keys.show(settings.keymap, this.#viewer.controls.actions.bindings);
    element("set-about", HTMLElement).textContent = this.#viewer.picture.describeMachine();
    this.#dialog.showModal();
  }

  #apply(): void {
    this.#viewer.change({
      name: this.#name.value.trim(),
      networkHz: parseHz(this.#hz.value),
      quality: oneOf(this.#quality.value, ["auto", "low", "medium", "high"], "auto"),
      light: oneOf(this.#light.value, ["auto", "day", "dusk"], "auto"),
      shadows: this.#shadows.checked,
      sound: this.#sound.checked,
      volume: Number(this.#volume.value),
      lookSpeed: Number(this.#look.value),
      invertLook: this.#invert.checked,
      vrWalk: this.#vrWalk.checked,
      vrSmoothTurn: this.#vrSmoothTurn.checked,
      vrVignette: this.#vrVignette.checked,
    });
    element("set-about", HTMLElement).textContent = this.#viewer.picture.describeMachine();
  }
}
