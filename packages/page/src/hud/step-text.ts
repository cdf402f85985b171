import { pageTexts } from "../texts.js";
import { controlNames, movementName, type NamedControls } from "./key-hints.js";

const PLACE = /\{([a-z_][a-z0-9_]*)\}/g;

/**
 * Replaces action names in braces by controls of the device in use: for `{kick}`, the key or the button. `{walk}`, `{run}` and
 * `{jump}` name the page's own controls, unless the world has actions with these names. The name of an unknown action stays,
 * without braces.
 */
export function fillStep(sentence: string, controls: NamedControls): string {
  return sentence.replace(PLACE, (_, name: string) => controlOf(name, controls));
}

function controlOf(name: string, controls: NamedControls): string {
  const binding = controls.bindings.find(({ action }) => action === name);
  if (binding !== undefined) {
    const names = controlNames(binding, controls, pageTexts.mouseButtons);
    return names.length === 0 ? pageTexts.button(binding.label) : pageTexts.eitherKey(names);
  }
  if (name === "walk" || name === "run" || name === "jump") return movementName(name, controls);
  return name.replaceAll("_", " ");
}
