import { type WorldListing, worldsOf } from "nowcast/internal";

/**
 * Requests the worlds of the server; empty if the server does not list them. If the server does not answer, entering a
 * room reports the error. The user can name a room without the list.
 */
export function fetchWorlds(): Promise<readonly WorldListing[]> {
  return worldsOf(window.location.href).catch(() => []);
}
