import { isFields } from "@nowcast/three";

/** A world that the server has. */
export interface WorldEntry {
  readonly name: string;
  /** The open rooms that show the world. */
  readonly rooms: readonly string[];
}

const WORLDS_MAX = 200;
const ROOMS_MAX = 1_000;
const NAME = /^[a-z0-9_-]{1,32}$/;

/** Parses the answer of `/api/worlds`; entries without a valid room name are omitted. */
export function readWorlds(answer: unknown): readonly WorldEntry[] {
  const list = isFields(answer) ? answer["worlds"] : answer;
  if (!Array.isArray(list)) return [];
  return list.slice(0, WORLDS_MAX).flatMap((entry: unknown) => {
    if (!isFields(entry) || !isName(entry["name"])) return [];
    const rooms = Array.isArray(entry["rooms"]) ? entry["rooms"].slice(0, ROOMS_MAX).filter(isName) : [];
    return [{ name: entry["name"], rooms }];
  });
}

/** Requests the worlds of the server; empty if the server does not list them. */
export async function fetchWorlds(): Promise<readonly WorldEntry[]> {
  try {
    const response = await fetch("/api/worlds", { headers: { accept: "application/json" } });
    return response.ok ? readWorlds(await response.json()) : [];
  } catch {
    // If the server does not answer, entering a room reports that. A room can be named without a list.
    return [];
  }
}

function isName(value: unknown): value is string {
  return typeof value === "string" && NAME.test(value);
}
