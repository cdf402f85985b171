import { type WorldListing, worldsOf } from "nowcast/world";

/** The name of a world as a title. */
export function titleOf(name: string): string {
  return name.replaceAll(/[-_]/g, " ");
}

/**
 * Requests the worlds of the server; empty if the server does not list them. If the server does not answer, entering a
 * room reports the error. The user can name a room without the list.
 */
export function fetchWorlds(): Promise<readonly WorldListing[]> {
  return worldsOf().catch(() => []);
}
