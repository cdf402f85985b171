import { readAddress } from "../connect/address.js";
import { NowcastError } from "../errors/nowcast-error.js";

/** The name of a room. An optional suffix, a dot and a moment, selects the room's past (`docs/SERVER.md`). */
const ROOM = /^\/(?:ws|r)\/([a-z0-9_-]{1,32}(?:\.[0-9A-Za-z.-]{1,31})?)\/?$/;
/** The room that a server's first page shows. */
const FIRST_ROOM = "plaza";

/**
 * Returns the WebSocket address of a world. Accepts `ws://HOST/ws/ROOM`, the address of a server's first page, and
 * `http://HOST/r/ROOM`. In a page, a path is enough.
 */
export function worldUrl(url: string | URL): URL {
  const base = typeof location === "undefined" ? undefined : location.href;
  let parsed: URL;
  try {
    parsed = new URL(url, base);
  } catch {
    throw new NowcastError(
      "misuse",
      `"${String(url)}" is not an address such as ws://localhost:7777/ws/plaza`,
    );
  }
  const protocols: Record<string, string> = {
    "http:": "ws:",
    "https:": "wss:",
    "ws:": "ws:",
    "wss:": "wss:",
  };
  const protocol = protocols[parsed.protocol];
  const room = parsed.pathname === "/" ? FIRST_ROOM : ROOM.exec(parsed.pathname)?.[1];
  if (protocol === undefined || room === undefined) {
    throw new NowcastError(
      "misuse",
      `"${parsed.href}" names no room: use ws://HOST:PORT/ws/ROOM with 1 to 32 of a–z 0–9 - _`,
    );
  }
  parsed.protocol = protocol;
  parsed.pathname = `/ws/${room}`;
  parsed.hash = "";
  return parsed;
}

/**
 * Returns the address of the same world for a session: `http://HOST/nowcast/ROOM`. An address
 * `nowcast://HOST/ROOM` is returned unchanged.
 */
export function sessionUrl(url: string | URL): string {
  if (/^nowcast:/i.test(String(url))) return String(url);
  const world = worldUrl(url);
  const scheme = world.protocol === "wss:" ? "https" : "http";
  return `${scheme}://${world.host}${world.pathname.replace(/^\/ws\//, "/nowcast/")}`;
}

/** Returns the origin of the server of an address that {@link sessionUrl} returned. */
export function serverOrigin(url: string): string {
  const { host, port, isEncrypted } = readAddress(url);
  return new URL(`http${isEncrypted ? "s" : ""}://${host}:${port}`).origin;
}
