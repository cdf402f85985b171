/** The worlds of a server, and their descriptions: `world.about` in `docs/how-to/pages.md`. */
import { NowcastError } from "../errors/nowcast-error.js";
import type { WaitOptions } from "../events/cancellable-waits.js";
import { serverUrl } from "./address.js";
import { isFields } from "./describe/shape.js";

/**
 * A world on a server, as the author describes the world. Texts come from other people, so never use them as markup.
 */
export interface WorldListing {
  /** The world's name, which is also the first room's name. */
  readonly name: string;
  /** The open rooms that show the world. */
  readonly rooms: readonly string[];
  /** Number of players in these rooms; `undefined` if the server does not list its rooms. */
  readonly players: number | undefined;
  /** The goal in one sentence; empty if the world does not describe itself. */
  readonly goal: string;
  /** A visitor's first steps, at most six. */
  readonly how: readonly string[];
  /** The address of the world's picture. */
  readonly picture: URL | undefined;
  /** The heading below which the server's start page lists the world; empty if there is none. */
  readonly group: string;
}

/** An open room on a server. */
export interface RoomListing {
  readonly name: string;
  /** The world that the room shows. */
  readonly world: string;
  readonly players: number;
  readonly playersMax: number;
}

const WORLDS_MAX = 200;
const ROOMS_MAX = 1_000;
const STEPS_MAX = 6;
const LINE_CHARACTERS_MAX = 200;
/** The path of a picture below the server's address. */
const PICTURE = /^\/(assets\/[0-9a-f]{64})$/;
const NAME = /^[a-z0-9_-]{1,32}$/;

/**
 * Requests a server's worlds. `server` is any address of the server, such as a room's; in a page, the page's own server
 * by default.
 *
 * ```ts
 * const about = (await worldsOf()).find(({ name }) => name === "football");
 * ```
 *
 * Rejected with a `NowcastError` of the fault `network` if the server does not answer with a list.
 */
export async function worldsOf(
  server: string | URL = "/",
  { signal }: WaitOptions = {},
): Promise<readonly WorldListing[]> {
  const base = baseOf(server);
  const rooms = fetchList(new URL("api/rooms", base), signal).catch(() => undefined);
  const worlds = await fetchList(new URL("api/worlds", base), signal);
  return readWorlds(worlds, await rooms, base);
}

/**
 * Requests a server's open rooms, without private ones. `server` is any address of the server.
 *
 * Rejected with a `NowcastError` of the fault `network` if the server does not answer with a list.
 */
export async function listRooms(
  server: string | URL = "/",
  { signal }: WaitOptions = {},
): Promise<readonly RoomListing[]> {
  return readRooms(await fetchList(new URL("api/rooms", baseOf(server)), signal));
}

/** Parses the answer of `/api/rooms`. Entries without valid names and numbers are omitted. */
export function readRooms(answer: unknown): readonly RoomListing[] {
  return listOf(answer, "rooms", ROOMS_MAX).flatMap(({ name, world, players, playersMax }) => {
    if (!isName(name) || !isName(world) || !isCount(players) || !isCount(playersMax)) return [];
    return { name, world, players, playersMax };
  });
}

/** The address of a server's first page, from any of the server's addresses. */
function baseOf(server: string | URL): URL {
  const address = String(server);
  if (/^nowcast:/i.test(address)) return new URL(`${serverUrl(address)}/`);
  const url = new URL(address, typeof location === "undefined" ? undefined : location.href);
  return new URL(url.pathname.replace(/\/(?:r|nowcast)\/[^/]+\/?$/, "/"), url);
}

/** Parses the answers of `/api/worlds` and `/api/rooms`. Entries without a valid name are omitted. */
export function readWorlds(worlds: unknown, rooms: unknown, base: URL): readonly WorldListing[] {
  const players = readPlayers(rooms);
  return listOf(worlds, "worlds", WORLDS_MAX).flatMap((entry) => {
    const { name, goal, picture, group } = entry;
    if (!isName(name)) return [];
    return {
      name,
      rooms: readTexts(entry["rooms"], ROOMS_MAX, isName),
      players: players && (players.get(name) ?? 0),
      goal: isLine(goal) ? goal : "",
      how: readTexts(entry["how"], STEPS_MAX, isLine),
      picture: readPicture(picture, base),
      group: isLine(group) ? group : "",
    };
  });
}

function readPicture(value: unknown, base: URL): URL | undefined {
  const path = typeof value === "string" ? PICTURE.exec(value)?.[1] : undefined;
  return path === undefined ? undefined : new URL(path, base);
}

/** The number of players in all rooms of each world. */
function readPlayers(answer: unknown): ReadonlyMap<string, number> | undefined {
  if (!isFields(answer)) return undefined;
  const players = new Map<string, number>();
  for (const { world, players: count } of listOf(answer, "rooms", ROOMS_MAX)) {
    if (!isName(world) || !isCount(count)) continue;
    players.set(world, (players.get(world) ?? 0) + count);
  }
  return players;
}

async function fetchList(url: URL, signal: AbortSignal | undefined): Promise<unknown> {
  try {
    const response = await fetch(url, { headers: { accept: "application/json" }, signal: signal ?? null });
    if (response.ok) return await response.json();
    throw new Error(`the server answered ${response.status}`);
  } catch (cause) {
    signal?.throwIfAborted();
    throw new NowcastError("network", `${url.href} gave no list`, { code: "lost", cause });
  }
}

function listOf(answer: unknown, name: string, max: number): readonly Readonly<Record<string, unknown>>[] {
  const list = isFields(answer) ? answer[name] : undefined;
  return Array.isArray(list) ? list.slice(0, max).filter(isFields) : [];
}

function readTexts(
  value: unknown,
  max: number,
  isValid: (text: unknown) => text is string,
): readonly string[] {
  return Array.isArray(value) ? value.slice(0, max).filter(isValid) : [];
}

function isLine(value: unknown): value is string {
  return typeof value === "string" && value.length <= LINE_CHARACTERS_MAX;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isName(value: unknown): value is string {
  return typeof value === "string" && NAME.test(value);
}
