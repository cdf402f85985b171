import type { Value, Vector } from "./api/types.js";

/** A value as text on one line, for reading and for editing: JSON, and vectors as lists. */
export function valueText(value: Value): string {
  return JSON.stringify(value) ?? "null";
}

/** A value as text for a table: shortened to `charactersMax`. */
export function shortText(value: Value, charactersMax = 80): string {
  const text = typeof value === "string" ? value : valueText(value);
  return text.length <= charactersMax ? text : `${text.slice(0, charactersMax - 1)}…`;
}

/**
 * Reads a value that a person wrote. `like` is the earlier value: for a text, input that is not JSON is the text itself.
 * Throws a `SyntaxError` for input that is not a value.
 */
export function readValue(text: string, like: Value): Value {
  if (typeof like === "string" && !/^\s*"/.test(text)) return text;
  try {
    return JSON.parse(text) as Value;
  } catch {
    throw new SyntaxError(
      `this is not a value: ${text.slice(0, 40)}. Write JSON, such as 3, true, "text" or [1, 2, 3]`,
    );
  }
}

export function vectorText([x, y, z]: Vector, digits = 2): string {
  return `${x.toFixed(digits)}  ${y.toFixed(digits)}  ${z.toFixed(digits)}`;
}

export function bytesText(bytes: number): string {
  if (bytes < 1_000) return `${Math.round(bytes)} B`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Steps as a time: 60 steps are a second. */
export function stepsText(steps: number): string {
  const seconds = Math.abs(steps) / 60;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}
