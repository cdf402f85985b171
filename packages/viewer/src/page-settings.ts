import type { Actions, InputCollector, IntroCard, KeyBar, Sounds } from "@nowcast/page";
import type { Picture } from "./scene/picture.js";
import type { Settings } from "./settings.js";

/** The parts of the page that settings change. */
export interface SettingsParts {
  readonly settings: Settings;
  readonly picture: Picture;
  readonly inputs: InputCollector;
  readonly actions: Actions;
  readonly keyBar: KeyBar;
  readonly intro: IntroCard;
  readonly sounds: Sounds;
}

/** Applies the current settings to the page. */
export function applySettings(page: SettingsParts): void {
  const { settings, picture, inputs, actions, keyBar, intro, sounds } = page;
  const { invertLook, lookSpeed, sound, volume, keymap } = settings;
  picture.applySettings();
  inputs.invertLook = invertLook;
  inputs.lookSpeed = lookSpeed;
  inputs.keymap = keymap;
  keyBar.define(actions.bindings, keymap);
  intro.update();
  sounds.setOn(sound);
  sounds.setVolume(volume);
}
