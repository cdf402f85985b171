import { NowcastError } from "../errors/nowcast-error.js";

const HEAD_BYTES_MAX = 16 * 1024;
/** RFC 6455, section 1.3. */
const ACCEPT_SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** `protocol` is the requested subprotocol; empty for none. */
export function upgradeRequest(url: URL, key: string, protocol: string): string {
  return [
    `GET ${url.pathname}${url.search} HTTP/1.1`,
    `Host: ${url.host}`,
    "Connection: Upgrade",
    "Upgrade: websocket",
    `Sec-WebSocket-Key: ${key}`,
    "Sec-WebSocket-Version: 13",
    ...(protocol === "" ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
    "\r\n",
  ].join("\r\n");
}

/** Returns the answer of a WebSocket server to `key`. */
export function acceptKey(key: string, sha1: import("node:crypto").Hash): string {
  return sha1.update(key + ACCEPT_SUFFIX).digest("base64");
}

/**
 * Checks the answer to an upgrade. Returns the start of the first frame, or `undefined` while the answer is incomplete.
 * Throws the server's own text if it refuses.
 */
export function readHandshake(response: Uint8Array, accept: string, protocol: string): number | undefined {
  const text = latin1(response.subarray(0, HEAD_BYTES_MAX));
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) {
    if (response.length >= HEAD_BYTES_MAX)
      throw refused(`an answer with a head beyond ${HEAD_BYTES_MAX} bytes`);
    return undefined;
  }
  const [statusLine = "", ...lines] = text.slice(0, end).split("\r\n");
  const status = /^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1];
  if (status === undefined) throw refused("an answer that is not HTTP/1.1");
  if (status !== "101") {
    const body = text
      .slice(end + 4)
      .split("\n", 1)[0]!
      .trim()
      .slice(0, 200);
    throw refused(`HTTP ${status}${body === "" ? "" : `: ${body}`}`);
  }
  const headers = new Map(lines.map(splitHeader));
  const upgrades = headers.get("upgrade")?.toLowerCase() === "websocket";
  if (!upgrades || headers.get("sec-websocket-accept") !== accept) {
    throw refused("an answer that does not upgrade to our WebSocket");
  }
  if (headers.has("sec-websocket-extensions") || (headers.get("sec-websocket-protocol") ?? "") !== protocol) {
    throw refused("an extension or a subprotocol that was not requested");
  }
  return end + 4;
}

function splitHeader(line: string): [string, string] {
  const colon = line.indexOf(":");
  return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()];
}

function refused(what: string): NowcastError {
  return new NowcastError("peer-misbehaved", what);
}

function latin1(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}
