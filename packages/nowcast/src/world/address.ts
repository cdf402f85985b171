import { readAddress, withoutQuery } from "../connect/address.js";
import { NowcastError } from "../errors/nowcast-error.js";

/** The name of a room. An optional suffix, a dot and a moment, selects the room's past (`docs/how-to/server.md`). */
const ROOM = /^(\/(?:.+\/)?)r\/([a-z0-9_-]{1,32}(?:\.[0-9A-Za-z.-]{1,31})?)\/?$/;

/**
 * Returns the address of a world's session: `http://HOST/nowcast/ROOM`. Accepts `http://HOST/r/ROOM`, also below a base path.
 * In a page, a path is enough. An address `nowcast://HOST/ROOM` stays as it is, without its query.
 */
export function sessionUrl(url: string | URL): string {
  const shown = withoutQuery(url);
  if (/^nowcast:/i.test(shown)) return shown;
  const page = typeof location === "undefined" ? undefined : location.href;
  let parsed: URL;
  try {
    parsed = new URL(url, page);
  } catch {
    throw new NowcastError(
      "misuse",
      `"${shown}" is not an address such as nowcast://localhost:7777/playground`,
    );
  }
  if (/^wss?:$/.test(parsed.protocol)) {
    throw new NowcastError("misuse", `"${shown}" is an address of the plain protocol`, {
      cure: "use nowcast://HOST:PORT/ROOM",
    });
  }
  const [, base, room] = ROOM.exec(parsed.pathname) ?? [];
  if (!/^https?:$/.test(parsed.protocol) || room === undefined) {
    throw new NowcastError(
      "misuse",
      `"${shown}" names no room: use nowcast://HOST:PORT/ROOM with 1 to 32 of a–z 0–9 - _`,
    );
  }
  return `${parsed.origin}${base}nowcast/${room}`;
}

/** Returns the token in the address of an invitation, such as `https://HOST/r/ROOM?token=…`. */
export function tokenIn(url: string | URL): string | undefined {
  const query = /\?([^#]*)/.exec(String(url))?.[1];
  return new URLSearchParams(query).get("token") ?? undefined;
}

/** Returns the address of a server's first page, without the last slash, for an address that {@link sessionUrl} returned. */
export function serverUrl(url: string): string {
  const { host, port, base, isEncrypted } = readAddress(url);
  return new URL(base, `http${isEncrypted ? "s" : ""}://${host}:${port}`).href.slice(0, -1);
}
