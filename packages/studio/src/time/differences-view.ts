import type { Differences, Value } from "../api/types.js";
import { make, table } from "../dom.js";
import { shortText } from "../value.js";

const ROWS_MAX = 200;

/** The differences of two moments: entities, their members, the state and the players. */
export function showDifferences(differences: Differences, names: readonly [string, string]): HTMLElement {
  const { spawned, despawned, changed, state, players, total } = differences;
  const [a, b] = names;
  if (total === 0) return make("p", { role: "status" }, `${a} and ${b} are equal.`);
  const rows: string[][] = [];
  for (const { id, kind } of spawned) rows.push([`${kind} #${id}`, "exists", "no", "yes"]);
  for (const { id, kind } of despawned) rows.push([`${kind} #${id}`, "exists", "yes", "no"]);
  for (const { key, ...values } of state) rows.push(["state", key, text(values.a), text(values.b)]);
  for (const { name, in: place } of players) {
    rows.push([`player ${name}`, "is in", place === "a" ? "yes" : "no", place === "b" ? "yes" : "no"]);
  }
  for (const { id, kind, members } of changed) {
    for (const member of members) rows.push([`${kind} #${id}`, member.name, text(member.a), text(member.b)]);
  }
  const shown = rows.slice(0, ROWS_MAX);
  const count = `${total} ${total === 1 ? "difference" : "differences"}`;
  const more = shown.length < rows.length ? `, the first ${ROWS_MAX} are shown` : "";
  return make(
    "div",
    { class: "differences" },
    make("p", { role: "status" }, `${count} between ${a} and ${b}${more}`),
    table("Differences", ["Of", "Member", a, b], shown),
  );
}

function text(value: Value): string {
  if (Array.isArray(value)) {
    return `[${value.map((part) => (typeof part === "number" ? String(+part.toFixed(3)) : shortText(part))).join(", ")}]`;
  }
  return typeof value === "number" ? String(+value.toFixed(4)) : shortText(value, 120);
}
