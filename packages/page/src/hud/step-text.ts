import type { Keymap } from "../input/keymap.js";
import { pageTexts } from "../texts.js";
import { keyName, type NamedControls } from "./key-hints.js";

const PLACE = /\{([a-z_][a-z0-9_]*)\}/g;

/**
 * Replaces action names in braces by controls: for `{kick}`, the key or the touch button. `{run}` and `{jump}` name the
 * page's own controls, unless the world has actions with these names. The name of an unknown action stays, without braces.
 */
export function fillStep(sentence: string, controls: NamedControls): string {
  return sentence.replace(PLACE, (_, name: string) => controlOf(name, controls));
}

function controlOf(name: string, { bindings, keymap, isTouching }: NamedControls): string {
  const binding = bindings.find(({ action }) => action === name);
  if (binding !== undefined) {
    if (isTouching || binding.keys.length === 0) return pageTexts.button(binding.label);
    return pageTexts.eitherKey(binding.keys.map((key) => nameInSentence(key, keymap)));
  }
  if (name === "run") return isTouching ? pageTexts.touchControls.run : keyName("ShiftLeft", keymap);
  if (name === "jump") return isTouching ? pageTexts.touchControls.jump : keyName("Space", keymap);
  return name.replaceAll("_", " ");
}

function nameInSentence(key: string, keymap: Keymap): string {
  if (key === "left") return pageTexts.mouseButtons.left;
  if (key === "right") return pageTexts.mouseButtons.right;
  return keyName(key, keymap);
}
