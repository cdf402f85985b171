/** The web pages that an endpoint admits (`spec/CARRIERS.md`, section 7). Browsers send the true origin and host. */
import { isIPv4 } from "node:net";
import { NowcastError } from "../errors/nowcast-error.js";

const QUOTED_CHARACTERS_MAX = 100;
const PORT_MAX = 65_535;
/** The default ports of schemes, which an origin leaves out. */
const OWN_PORTS: Readonly<Record<string, number>> = { http: 80, https: 443 };
const SCHEME = /^[a-zA-Z][a-zA-Z0-9+.-]*$/;
/** White space, control characters, and characters that cannot be part of a host and a port. */
const NO_HOST = /[\s\p{Cc}/?#@\\*,%]/u;

/**
 * Parses an origin in usual notation, and normalises it like browsers: lower case, without the scheme's default port.
 */
export function parseOrigin(text: string): string {
  const [, scheme = "", written = ""] = /^([^:]*):\/\/(.*)$/s.exec(String(text)) ?? [];
  const rest = written.replace(/\/$/, "");
  if (!SCHEME.test(scheme) || rest === "" || NO_HOST.test(rest)) throw noOrigin(text);
  let url: URL;
  try {
    url = new URL(`${scheme}://${rest}/`);
  } catch {
    throw noOrigin(text);
  }
  if (url.origin !== "null") return url.origin;
  // An origin of an application's own pages, such as `capacitor://localhost`, may have any host.
  if (url.protocol === "file:" || !isAscii(rest)) throw noOrigin(text);
  return `${url.protocol}//${rest}`;
}

function noOrigin(text: unknown): NowcastError {
  const cure = "write SCHEME://HOST or SCHEME://HOST:PORT without a path, such as https://example.org";
  return new NowcastError("misuse", `"${quoted(String(text))}" is not an origin`, { cure });
}

/** The requesting page and the requested host, from the headers. */
export interface Page {
  /** `HOST[:PORT]` of the address in absolute form, or else of the header `Host`. */
  readonly host: string | undefined;
  readonly origin: string | undefined;
}

/** The origins that an operator has named, with their hosts. */
export class NamedOrigins {
  readonly #origins: ReadonlySet<string>;
  readonly #hosts: ReadonlySet<string | undefined>;

  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins.map(parseOrigin));
    const hosts = [...this.#origins].map((origin) => readAuthority(origin.slice(origin.indexOf("//") + 2)));
    this.#hosts = new Set(hosts.map((authority) => authority?.host));
  }

  get isEmpty(): boolean {
    return this.#origins.size === 0;
  }

  has(origin: string): boolean {
    return this.#origins.has(origin);
  }

  hasHost(host: string): boolean {
    return this.#hosts.has(host);
  }
}

/** Whether a host is a name of this machine, or a host that the operator has named. */
export function isKnownHost(host: string, named: NamedOrigins): boolean {
  const authority = readAuthority(host);
  return authority !== undefined && (isThisMachine(authority.host) || named.hasHost(authority.host));
}

/** Whether a page at this origin belongs to an endpoint on `port` that was requested at `host`. */
export function isOwnPage(origin: string, host: string | undefined, port: number | undefined): boolean {
  const [scheme = "", rest = ""] = origin.split("://", 2);
  const ownPort = OWN_PORTS[scheme];
  const authority = readAuthority(rest);
  if (ownPort === undefined || authority === undefined || `${scheme}://${rest}` !== origin) return false;
  const asked = host === undefined ? undefined : readAuthority(host);
  const originPort = authority.port ?? ownPort;
  const isOurPort = originPort === port || (asked !== undefined && originPort === (asked.port ?? ownPort));
  return isThisMachine(authority.host) && isOurPort;
}

interface Authority {
  /** In lower case and without a final dot; IPv6 in brackets and in canonical form. */
  readonly host: string;
  readonly port: number | undefined;
}

/** Reads `HOST[:PORT]`. */
export function readAuthority(text: string): Authority | undefined {
  const parts = /^(\[[0-9a-fA-F:.]+\]|[a-zA-Z0-9._~-]+)(?::(\d*))?$/.exec(text);
  if (parts === null) return undefined;
  const [, host = "", digits = ""] = parts;
  const port = digits === "" ? undefined : Number(digits);
  if (port !== undefined && port > PORT_MAX) return undefined;
  if (!host.startsWith("[")) return { host: host.replace(/\.$/, "").toLowerCase(), port };
  try {
    return { host: new URL(`http://${host}/`).hostname, port };
  } catch {
    return undefined;
  }
}

function isThisMachine(host: string): boolean {
  if (host === "localhost" || host === "[::1]") return true;
  // For IPv4 addresses in IPv6, 127.0.0.0/8 is ::ffff:7f00:0 to ::ffff:7fff:ffff.
  return (isIPv4(host) && host.startsWith("127.")) || /^\[::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}\]$/.test(host);
}

/** Makes an origin or host from a request safe to quote in an answer. */
export function quoted(text: string): string {
  return text.slice(0, QUOTED_CHARACTERS_MAX);
}

/** Node decodes each byte of a header as one of the first 256 characters. */
export function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return false;
  return true;
}
