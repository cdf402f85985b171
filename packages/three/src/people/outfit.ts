import { Color } from "three";
import type { Cloth } from "./parts.js";

const SKINS = ["#f3cfb3", "#e6b48d", "#c98d62", "#9a6242", "#6b4330", "#f0c3a0"] as const;
const SKIN_COLORS = SKINS.map((skin) => new Color(skin));
const HAIRS = ["#2b211d", "#4a3022", "#7a4a26", "#c08a45", "#8e8a88", "#a6442d"] as const;
const TROUSERS = ["#35415c", "#4b4a52", "#5a4a3d", "#2f4f57", "#6b6457"] as const;
const SHIRTS = [
  "#e4572e",
  "#2e86ab",
  "#f2b134",
  "#43a047",
  "#8e5aa8",
  "#ef6f94",
  "#17a398",
  "#3d4660",
] as const;

/** The choices for each part of an outfit: colours, and the names of hats and builds. */
export const OUTFIT_CHOICES = {
  shirt: SHIRTS,
  trousers: TROUSERS,
  skin: SKINS,
  hair: HAIRS,
  hat: ["none", "cap", "beanie", "crown"],
  build: ["slim", "broad"],
} as const;

export type OutfitPart = keyof typeof OUTFIT_CHOICES;

/** The parts in the order of their bits in a packed outfit. */
const PARTS = ["shirt", "trousers", "skin", "hair", "hat", "build"] as const satisfies readonly OutfitPart[];
const BITS = 4;

/** The number of the choice for each part, from 1; 0 lets the page choose. */
export type Outfit = Readonly<Record<OutfitPart, number>>;

/** Parses the attribute `outfit` of a person: four bits for each part. Unknown choices count as 0. */
export function readOutfit(packed: number): Outfit {
  const outfit = { shirt: 0, trousers: 0, skin: 0, hair: 0, hat: 0, build: 0 };
  PARTS.forEach((part, i) => {
    const choice = (packed >>> (i * BITS)) & ((1 << BITS) - 1);
    outfit[part] = choice <= OUTFIT_CHOICES[part].length ? choice : 0;
  });
  return outfit;
}

/** The attribute `outfit` for these choices. */
export function packOutfit(outfit: Outfit): number {
  return PARTS.reduce((packed, part, i) => packed | (outfit[part] << (i * BITS)), 0) >>> 0;
}

/** The colour of the shirt that the player chose; `undefined` if the player chose none. */
export function shirtOf(packed: number): number | undefined {
  const chosen = SHIRTS[readOutfit(packed).shirt - 1];
  return chosen === undefined ? undefined : new Color(chosen).getHex();
}

/**
 * The clothes of an avatar. The shirt has the colour of the world or of the player. Colours that the player did not choose
 * are computed from the id, so they are equal for all viewers.
 */
export function createOutfit(id: number, color: number, packed = 0): Record<Cloth, Color> {
  const outfit = readOutfit(packed);
  const shirt = new Color(color);
  const pack = shirt.clone().offsetHSL(0.45, -0.12, -0.08);
  return {
    shirt,
    pack,
    skin: skinOf(id, outfit.skin),
    hair: new Color(HAIRS[outfit.hair - 1] ?? pick(HAIRS, id, 31)),
    trousers: new Color(TROUSERS[outfit.trousers - 1] ?? pick(TROUSERS, id, 101)),
    face: new Color(1, 1, 1),
  };
}

/** The colour of the skin for a choice from 1; for 0, it is computed from the id. The colour must not be changed. */
export function skinOf(id: number, choice = 0): Color {
  return SKIN_COLORS[choice - 1] ?? pick(SKIN_COLORS, id, 7);
}

function pick<T>(choices: readonly T[], id: number, salt: number): T {
  const hash = Math.imul(id + salt, 2654435761) >>> 0;
  return choices[(hash >>> 8) % choices.length]!;
}
