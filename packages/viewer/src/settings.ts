import { readKeymap } from "@nowcast/page";
import type { Keymap } from "@nowcast/page/internal";
import { packOutfit, readOutfit } from "@nowcast/three/internal";
import type { QualityChoice } from "./scene/quality.js";

const NETWORK_HZ_MIN = 5;
const NETWORK_HZ_MAX = 60;

/** The settings of a user, which are stored in this browser. */
export interface Settings {
  name: string;
  /** Snapshots a second; 0 leaves it to the server. */
  networkHz: number;
  /** The clothes of the local avatar, as in the attribute `outfit`; 0 for the clothes that every viewer computes. */
  outfit: number;
  quality: QualityChoice;
  shadows: boolean;
  light: "auto" | "day" | "dusk";
  invertLook: boolean;
  lookSpeed: number;
  /** Whether the network figures are shown. */
  hud: boolean;
  /** Whether the bar of keys is shown. */
  keys: boolean;
  /** The keys that the user moved. */
  keymap: Keymap;
  /** Whether sounds are on. They start with the first click or key, because browsers allow no sound before. */
  sound: boolean;
  /** Volume of the sounds, 0 to 1. */
  volume: number;
  /** For headsets: whether the left stick walks. */
  vrWalk: boolean;
  /** Whether the right stick turns smoothly instead of in steps. */
  vrSmoothTurn: boolean;
  /** Whether the visible picture becomes narrower during motion. */
  vrVignette: boolean;
}

export const DEFAULTS: Readonly<Settings> = {
  name: "",
  networkHz: 0,
  outfit: 0,
  quality: "auto",
  shadows: true,
  light: "auto",
  invertLook: false,
  lookSpeed: 1,
  hud: false,
  keys: true,
  keymap: new Map(),
  sound: true,
  volume: 1,
  vrWalk: true,
  vrSmoothTurn: false,
  vrVignette: true,
};

const KEY = "nowcast.settings";

/** Reads the stored settings. Missing and invalid values are replaced by defaults. */
export function loadSettings(storage: Pick<Storage, "getItem"> | undefined = browserStorage()): Settings {
  let kept: Record<string, unknown> = {};
  try {
    const parsed: unknown = JSON.parse(storage?.getItem(KEY) ?? "{}");
    if (parsed !== null && typeof parsed === "object") kept = parsed as Record<string, unknown>;
  } catch {
    // Invalid text under this key counts as missing.
  }
  return {
    name: typeof kept["name"] === "string" ? kept["name"].slice(0, 24) : DEFAULTS.name,
    networkHz: parseHz(kept["networkHz"]),
    outfit: typeof kept["outfit"] === "number" ? packOutfit(readOutfit(kept["outfit"])) : DEFAULTS.outfit,
    quality: oneOf(kept["quality"], ["auto", "low", "medium", "high"], DEFAULTS.quality),
    shadows: typeof kept["shadows"] === "boolean" ? kept["shadows"] : DEFAULTS.shadows,
    light: oneOf(kept["light"], ["auto", "day", "dusk"], DEFAULTS.light),
    invertLook: typeof kept["invertLook"] === "boolean" ? kept["invertLook"] : DEFAULTS.invertLook,
    lookSpeed:
      typeof kept["lookSpeed"] === "number" && kept["lookSpeed"] >= 0.2 && kept["lookSpeed"] <= 3
        ? kept["lookSpeed"]
        : DEFAULTS.lookSpeed,
    hud: typeof kept["hud"] === "boolean" ? kept["hud"] : DEFAULTS.hud,
    keys: typeof kept["keys"] === "boolean" ? kept["keys"] : DEFAULTS.keys,
    keymap: readKeymap(kept["keymap"]),
    sound: typeof kept["sound"] === "boolean" ? kept["sound"] : DEFAULTS.sound,
    volume:
      typeof kept["volume"] === "number" && kept["volume"] >= 0 && kept["volume"] <= 1
        ? kept["volume"]
        : DEFAULTS.volume,
    vrWalk: typeof kept["vrWalk"] === "boolean" ? kept["vrWalk"] : DEFAULTS.vrWalk,
    vrSmoothTurn: typeof kept["vrSmoothTurn"] === "boolean" ? kept["vrSmoothTurn"] : DEFAULTS.vrSmoothTurn,
    vrVignette: typeof kept["vrVignette"] === "boolean" ? kept["vrVignette"] : DEFAULTS.vrVignette,
  };
}

export function saveSettings(
  settings: Settings,
  storage: Pick<Storage, "setItem"> | undefined = browserStorage(),
): void {
  try {
    const keymap = Object.fromEntries(settings.keymap);
    storage?.setItem(KEY, JSON.stringify({ ...settings, keymap }));
  } catch {
    // If the storage is full or forbidden, the settings apply only to this visit.
  }
}

export function oneOf<T extends string>(value: unknown, choices: readonly T[], fallback: T): T {
  return choices.find((choice) => choice === value) ?? fallback;
}

/** A rate that the protocol allows, or 0 for the server's own. */
export function parseHz(value: unknown): number {
  const hz = typeof value === "string" && value !== "" ? Number(value) : value;
  if (typeof hz !== "number" || !Number.isFinite(hz) || hz === 0) return 0;
  return Math.min(NETWORK_HZ_MAX, Math.max(NETWORK_HZ_MIN, Math.round(hz)));
}

function browserStorage(): Storage | undefined {
  try {
    return window.localStorage;
  } catch {
    return undefined;
  }
}
