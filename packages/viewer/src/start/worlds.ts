import { isFields } from "@nowcast/three";

/** A world that the server has. */
export interface WorldEntry {
  readonly name: string;
  /** The open rooms that show the world. */
  readonly rooms: readonly string[];
  /** The goal in one sentence; empty if the world does not describe itself. */
  readonly goal: string;
  /** The first steps of a visitor. */
  readonly how: readonly string[];
  /** The path of a picture on this server. */
  readonly picture: string | undefined;
}

const WORLDS_MAX = 200;
const ROOMS_MAX = 1_000;
const STEPS_MAX = 6;
const LINE_CHARACTERS_MAX = 200;
const PICTURE = /^\/assets\/[0-9a-f]{64}$/;
const NAME = /^[a-z0-9_-]{1,32}$/;

/** Parses the answer of `/api/worlds`; entries without a valid room name are omitted. */
export function readWorlds(answer: unknown): readonly WorldEntry[] {
  const list = isFields(answer) ? answer["worlds"] : answer;
  if (!Array.isArray(list)) return [];
  return list.slice(0, WORLDS_MAX).flatMap((entry: unknown) => {
    if (!isFields(entry) || !isName(entry["name"])) return [];
    const rooms = Array.isArray(entry["rooms"]) ? entry["rooms"].slice(0, ROOMS_MAX).filter(isName) : [];
    const how = Array.isArray(entry["how"]) ? entry["how"].slice(0, STEPS_MAX).filter(isLine) : [];
    const goal = isLine(entry["goal"]) ? entry["goal"] : "";
    const picture = isPicture(entry["picture"]) ? entry["picture"] : undefined;
    return [{ name: entry["name"], rooms, goal, how, picture }];
  });
}

/** Parses the answer of `/api/rooms`: the number of players in all rooms of each world. */
export function readPlayers(answer: unknown): ReadonlyMap<string, number> {
  const list = isFields(answer) ? answer["rooms"] : undefined;
  const players = new Map<string, number>();
  if (!Array.isArray(list)) return players;
  for (const entry of list.slice(0, ROOMS_MAX)) {
    if (!isFields(entry) || !isName(entry["world"])) continue;
    const count = entry["players"];
    if (!Number.isSafeInteger(count) || (count as number) < 0) continue;
    players.set(entry["world"], (players.get(entry["world"]) ?? 0) + (count as number));
  }
  return players;
}

/** The name of a world as a title. */
export function titleOf(name: string): string {
  return name.replaceAll(/[-_]/g, " ");
}

/** Requests the worlds of the server; empty if the server does not list them. */
export async function fetchWorlds(): Promise<readonly WorldEntry[]> {
  return readWorlds(await fetchList("/api/worlds"));
}

/** Requests the number of players in each world; empty if the server does not list its rooms. */
export async function fetchPlayers(): Promise<ReadonlyMap<string, number>> {
  return readPlayers(await fetchList("/api/rooms"));
}

async function fetchList(path: string): Promise<unknown> {
  try {
    const response = await fetch(path, { headers: { accept: "application/json" } });
    return response.ok ? await response.json() : undefined;
  } catch {
    // If the server does not answer, entering a room reports the error. The user can name a room without the list.
    return undefined;
  }
}

function isLine(value: unknown): value is string {
  return typeof value === "string" && value.length <= LINE_CHARACTERS_MAX;
}

function isPicture(value: unknown): value is string {
  return typeof value === "string" && PICTURE.test(value);
}

function isName(value: unknown): value is string {
  return typeof value === "string" && NAME.test(value);
}
