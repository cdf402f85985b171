/**
 * Parses addresses such as `nowcast://HOST:PORT/NAME`, and makes the URLs of their endpoints
 * (`spec/CARRIERS.md`, section 1).
 */
import { NowcastError } from "../errors/nowcast-error.js";

const PORT = 7777;
const NOWCAST = /^nowcast:\/\/(\[[0-9a-fA-F:.]+\]|[a-zA-Z0-9.-]*)(?::(\d{1,5}))?(\/(?:[^?#]+\/)?)([^/?#]+)$/;
const NAME = /^[a-zA-Z0-9_-][a-zA-Z0-9._-]{0,63}$/;
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

export interface Address {
  /** The host as it is written in addresses: IPv6 in brackets. */
  readonly host: string;
  readonly port: number;
  /** The path below which the endpoint is served: `/`, or `/game/`. */
  readonly base: string;
  readonly name: string;
  /** Whether TCP connections use TLS. */
  readonly isEncrypted: boolean;
}

export function isName(name: string): boolean {
  return NAME.test(name);
}

export function isLoopbackHost(host: string): boolean {
  return LOOPBACK.test(host);
}

/**
 * Parses `nowcast://HOST:PORT/NAME`, `http(s)://HOST:PORT/nowcast/NAME`, or, in a page, a name alone for the page's own
 * endpoint. An endpoint below a base path has the path before the name, or before `nowcast`. A `nowcast:` address uses plain HTTP for this machine, and for the host of a page that was loaded over
 * plain HTTP.
 */
export function readAddress(url: string): Address {
  const page = typeof location === "undefined" ? undefined : location;
  const parts = NOWCAST.exec(url);
  if (parts !== null) {
    const [, host = "", port, base = "/", name = ""] = parts;
    // Name servers know no paths.
    if (base !== "/" && port === undefined) throw misuse(url);
    const there = host === "" ? "localhost" : host.toLowerCase();
    const isPlain = isLoopbackHost(there) || (page?.protocol === "http:" && page.hostname === there);
    return check(url, { host: there, port: Number(port ?? PORT), base, name, isEncrypted: !isPlain });
  }
  const isBareName = isName(url) && page !== undefined;
  let parsed: URL;
  try {
    parsed = new URL(isBareName ? `/nowcast/${url}` : url, isBareName ? page.origin : undefined);
  } catch {
    throw misuse(url);
  }
  const [, base = "/", name = ""] = /^(\/(?:.+\/)?)nowcast\/([^/]+)$/.exec(parsed.pathname) ?? [];
  if (!/^https?:$/.test(parsed.protocol)) throw misuse(url);
  const isEncrypted = parsed.protocol === "https:";
  const port = Number(parsed.port || (isEncrypted ? 443 : 80));
  return check(url, { host: parsed.hostname, port, base, name, isEncrypted });
}

function check(url: string, address: Address): Address {
  if (!isName(address.name) || address.host === "" || address.port < 1 || address.port > 65_535)
    throw misuse(url);
  return address;
}

function misuse(url: string): NowcastError {
  const what = `"${withoutQuery(url)}" is not an address such as nowcast://localhost:7777/tracker`;
  return new NowcastError("misuse", `${what}; a name has 1 to 64 of a–z A–Z 0–9 . _ -, and no dot first`);
}

/** An address as errors may show it: the query may hold a token. */
export function withoutQuery(url: string | URL): string {
  return String(url).replace(/[?#].*$/s, "");
}

/** The URL of the name at an endpoint, with a scheme of HTTP or WebSocket. */
export function addressUrl(
  { host, port, base, name }: Pick<Address, "host" | "port" | "base" | "name">,
  scheme: "http" | "https" | "ws" | "wss",
  query: Record<string, string | undefined>,
): string {
  const url = new URL(`${scheme}://${host}:${port}${base}nowcast/${name}`);
  for (const [key, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(key, value);
  return url.href;
}
