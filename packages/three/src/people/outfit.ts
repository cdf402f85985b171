import { Color } from "three";
import type { Cloth } from "./parts.js";

const SKINS = ["#f3cfb3", "#e6b48d", "#c98d62", "#9a6242", "#6b4330", "#f0c3a0"] as const;
const HAIRS = ["#2b211d", "#4a3022", "#7a4a26", "#c08a45", "#8e8a88", "#a6442d"] as const;
const TROUSERS = ["#35415c", "#4b4a52", "#5a4a3d", "#2f4f57", "#6b6457"] as const;

/**
 * The clothes of an avatar. The shirt has the colour that the server sends. All other colours are computed
 * from the id, so they are equal for all viewers.
 */
export function createOutfit(id: number, color: number): Record<Cloth, Color> {
  const shirt = new Color(color);
  const pack = shirt.clone().offsetHSL(0.45, -0.12, -0.08);
  return {
    shirt,
    pack,
    skin: new Color(pick(SKINS, id, 7)),
    hair: new Color(pick(HAIRS, id, 31)),
    trousers: new Color(pick(TROUSERS, id, 101)),
  };
}

function pick(choices: readonly string[], id: number, salt: number): string {
  const hash = Math.imul(id + salt, 2654435761) >>> 0;
  return choices[(hash >>> 8) % choices.length] ?? "#888888";
}
