/** Panels that a world declares with `world.ui`: "Panels" in `docs/how-to/pages.md`. */

import type { ActionSource } from "nowcast/internal";
import { isFields, readColor } from "nowcast/internal";

/** The action of a press. */
export const PRESS_ACTION = "ui:press";

const PANELS_MAX = 32;
const PARTS_MAX = 256;
const TEXT_CHARACTERS_MAX = 200;

export const ANCHORS = [
  "top_left",
  "top",
  "top_right",
  "left",
  "center",
  "right",
  "bottom_left",
  "bottom",
  "bottom_right",
  "entity",
] as const;

export type Anchor = (typeof ANCHORS)[number];

const PART_TYPES = ["text", "button", "bar", "list", "input", "picture"] as const;

export interface PanelPart {
  readonly type: (typeof PART_TYPES)[number];
  readonly name: string;
  /** The place on screens that has the value of this part. */
  readonly place: string;
  /** The value before the world sets another. */
  readonly text: string;
  /** A text before the value. */
  readonly label: string;
  /** A colour as `0xrrggbb`. */
  readonly color: number | undefined;
  /**
   * A full bar's number, an input's maximum number of characters, or a picture's maximum width in pixels.
   */
  readonly max: number;
  readonly isPressable: boolean;
}

export interface Panel {
  readonly name: string;
  readonly at: Anchor;
  readonly title: string;
  /** Whether players see it before the world shows or hides it. */
  readonly isOpen: boolean;
  /** The place on screens: true, false, or the number of the entity over which the panel hangs. */
  readonly place: string;
  readonly parts: readonly PanelPart[];
}

/** Reads the panels of a world. Fields of other types are passed over. */
export function readPanels(actions: readonly ActionSource[]): readonly Panel[] {
  const hint = actions.find(({ name }) => name === PRESS_ACTION)?.hint;
  const declared = isFields(hint) ? hint["ui"] : undefined;
  if (!Array.isArray(declared)) return [];
  return declared.slice(0, PANELS_MAX).flatMap((panel: unknown) => readPanel(panel) ?? []);
}

function readPanel(panel: unknown): Panel | undefined {
  if (!isFields(panel)) return undefined;
  const { name, at, title, open, place, parts } = panel;
  const anchor = ANCHORS.find((known) => known === at);
  if (typeof name !== "string" || typeof place !== "string" || anchor === undefined) return undefined;
  const list = Array.isArray(parts) ? parts.slice(0, PARTS_MAX) : [];
  return {
    name,
    at: anchor,
    title: textIn(title),
    isOpen: open === true,
    place,
    parts: list.flatMap((part: unknown) => readPart(part) ?? []),
  };
}

function readPart(part: unknown): PanelPart | undefined {
  if (!isFields(part)) return undefined;
  const { type, name, place, text, label, color, max, press } = part;
  const known = PART_TYPES.find((part) => part === type);
  if (known === undefined) return undefined;
  if (typeof name !== "string" || typeof place !== "string") return undefined;
  return {
    type: known,
    name,
    place,
    text: textIn(text),
    label: textIn(label),
    color: typeof color === "string" ? readColor(color) : undefined,
    max: typeof max === "number" && max > 0 ? max : (MAXIMA[known] ?? 1),
    isPressable: press === true,
  };
}

/** The largest number of a part that declares none. */
const MAXIMA: Partial<Record<PanelPart["type"], number>> = { input: 100, picture: 128 };

function textIn(value: unknown): string {
  return typeof value === "string" ? value.slice(0, TEXT_CHARACTERS_MAX) : "";
}

/** Whether a place on screens belongs to the page itself, and is not a line of the list. */
export function isOwnPlace(place: string): boolean {
  return place.startsWith("@");
}
