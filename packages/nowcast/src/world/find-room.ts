/** Rooms by query, and private rooms: `docs/how-to/server.md`. */
import { NowcastError } from "../errors/nowcast-error.js";
import type { WaitOptions } from "../events/cancellable-waits.js";
import type { RoomQuery } from "./world.js";
import { listRooms, type RoomListing } from "./worlds.js";

const NAME_CHARACTERS_MAX = 32;
const WORD_CHARACTERS_MAX = 12;
const NAME = /^[a-z0-9_-]{1,32}$/;
/** Without characters that look alike; 32 of them, so that each byte selects one evenly. */
const LETTERS = "abcdefghijkmnpqrstuvwxyz23456789";

/**
 * Returns the name of a world's fullest open room with enough free seats, so that people meet. If there is none, returns
 * the name of a new room. Private rooms are never found. A room that this function found can be full a moment later.
 *
 * ```ts
 * const room = await findRoom("https://play.example.org", { world: "party", freeSeats: 2 });
 * ```
 *
 * Rejected with a `NowcastError` of the fault `network` if the server does not answer with a list.
 */
export async function findRoom(
  server: string | URL,
  query: RoomQuery,
  options: WaitOptions = {},
): Promise<string> {
  checkQuery(query);
  return chooseRoom(await listRooms(server, options), query);
}

function checkQuery({ world, freeSeats = 1 }: RoomQuery): void {
  if (!NAME.test(world)) throw new NowcastError("misuse", `"${world}" cannot be the name of a world`);
  if (!Number.isInteger(freeSeats) || freeSeats < 1) {
    throw new NowcastError("misuse", `freeSeats is a whole number from 1 upwards, not ${freeSeats}`);
  }
}

/** Chooses among the open rooms of a server, or returns the name of a new room. */
export function chooseRoom(rooms: readonly RoomListing[], { world, freeSeats = 1 }: RoomQuery): string {
  const open = rooms.filter((room) => room.world === world);
  const [fullest] = open
    .filter(({ players, playersMax }) => playersMax - players >= freeSeats)
    .sort((a, b) => b.players - a.players || (a.name < b.name ? -1 : 1));
  if (fullest) return fullest.name;
  const taken = new Set(open.map(({ name }) => name));
  for (let number = 1; number <= taken.size + 1; number++) {
    const name = number === 1 ? world : `${world}-${number}`;
    if (!taken.has(name) && name.length <= NAME_CHARACTERS_MAX) return name;
  }
  throw new NowcastError(
    "misuse",
    `"${world}" is full, and its name is too long for the name of another room`,
  );
}

/**
 * Returns the name of a world's private room. Servers list no private rooms, so the name is the invitation. Without a
 * `word`, the function makes a word that cannot be guessed.
 *
 * ```ts
 * const world = joinWorld(`/r/${privateRoom("party")}`);
 * ```
 */
export function privateRoom(world: string, word: string = randomWord(world)): string {
  const name = `${world}--${word}`;
  if (!NAME.test(world) || !NAME.test(name) || word === "") {
    throw new NowcastError(
      "misuse",
      `"${name}" cannot be the name of a room: use 1 to 32 of a–z 0–9 - _, with at least one after the two hyphens`,
    );
  }
  return name;
}

function randomWord(world: string): string {
  const length = Math.min(WORD_CHARACTERS_MAX, NAME_CHARACTERS_MAX - 2 - world.length);
  if (length < 6) {
    throw new NowcastError("misuse", `"${world}" is too long for a private room whose name nobody can guess`);
  }
  const bytes = crypto.getRandomValues(new Uint8Array(length));
  return Array.from(bytes, (byte) => LETTERS[byte % LETTERS.length]).join("");
}
