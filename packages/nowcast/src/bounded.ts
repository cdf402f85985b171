import { NowcastError } from "./errors.js";

/** The nearest number within the bounds; throws a misuse for what is no finite number. */
export function bounded(value: number, min: number, max: number, name: string): number {
  if (!Number.isFinite(value)) throw new NowcastError("misuse", `${name} is ${value}, not a finite number`);
  return Math.min(max, Math.max(min, value));
}
