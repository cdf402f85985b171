import type { IntroCard, KeyBar, Sounds, WorldControls } from "@nowcast/page";
import type { Picture } from "./scene/picture.js";
import type { Settings } from "./settings.js";

/** The parts of the page that settings change. */
export interface SettingsParts {
  readonly settings: Settings;
  readonly picture: Picture;
  readonly controls: WorldControls;
  readonly keyBar: KeyBar;
  readonly intro: IntroCard;
  readonly sounds: Sounds;
}

/** Applies the current settings to the page. */
export function applySettings(page: SettingsParts): void {
  const { settings, picture, controls, keyBar, intro, sounds } = page;
  const { inputs, actions } = controls;
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
