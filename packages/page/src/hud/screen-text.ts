/** Converts values of screens to text. A value may be any MessagePack value. */
import { isFields } from "nowcast/internal";
import { pageTexts } from "../texts.js";

const TEXT_CHARACTERS_MAX = 160;
const PARTS_MAX = 12;

/** A value with its label, for example one side of a score. */
export interface ScoreSide {
  readonly name: string;
  readonly value: string;
}

/** A value as one line of text; empty if there is no value. */
export function textOf(value: unknown, depth = 0): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return shortened(value);
  if (typeof value === "number") return numberText(value);
  if (typeof value === "bigint") return String(value);
  if (typeof value === "boolean") return value ? pageTexts.yes : pageTexts.no;
  if (depth > 1) return "…";
  if (Array.isArray(value)) {
    return shortened(
      value
        .slice(0, PARTS_MAX)
        .map((part) => textOf(part, depth + 1))
        .join(", "),
    );
  }
  if (!isFields(value)) return "";
  return shortened(
    sidesOf(value, depth + 1)
      .map((side) => `${side.name} ${side.value}`)
      .join(" · "),
  );
}

/**
 * The sides of a score, each with its name, in the order of the names. A plain value is one side without a
 * name.
 */
export function sidesOf(value: unknown, depth = 0): readonly ScoreSide[] {
  if (!isFields(value)) {
    const text = textOf(value, depth);
    return text === "" ? [] : [{ name: "", value: text }];
  }
  return Object.keys(value)
    .sort()
    .slice(0, PARTS_MAX)
    .map((name) => ({ name: wordOf(name), value: textOf(value[name], depth + 1) }));
}

/** Seconds as minutes and seconds; other values unchanged. */
export function clockText(value: unknown): string {
  if (typeof value !== "number" || !Number.isFinite(value)) return textOf(value);
  const seconds = Math.max(0, Math.ceil(value));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

const TOLD_CHARACTERS_MAX = 400;

/** The chat line in a world's event `tell`; `undefined` if the value is not a text. */
export function readTold(payload: unknown): string | undefined {
  const text = isFields(payload) ? payload["text"] : undefined;
  return typeof text === "string" && text !== "" ? text.slice(0, TOLD_CHARACTERS_MAX) : undefined;
}

/** The display name of a place or a side. */
export function wordOf(name: string): string {
  return shortened(name.replaceAll("_", " "));
}

function numberText(value: number): string {
  if (!Number.isFinite(value)) return "–";
  return Number.isInteger(value) ? String(value) : value.toFixed(2);
}

function shortened(text: string): string {
  if (text.length <= TEXT_CHARACTERS_MAX) return text;
  return `${[...text].slice(0, TEXT_CHARACTERS_MAX - 1).join("")}…`;
}
