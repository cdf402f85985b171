import { parseHz } from "./settings.js";

const CARRIERS = ["webtransport", "websocket"] as const;

/** The choices in the page's address: `/r/{room}?world=…&name=…&enter=1&hud=0&carrier=…&hz=…&quality=…&light=…&token=…&at=…&stun=…`. */
export interface PageAddress {
  /** Undefined if the address has no name, or a name that the protocol does not allow. */
  room: string | undefined;
  /** The name in the address, if it differs from `room`. */
  askedRoom: string | undefined;
  name: string | undefined;
  /** Whether to enter at once, without the start screen. */
  enter: boolean;
  /** Whether texts and buttons are over the picture of a world. */
  hud: boolean;
  /** The only carrier to use. */
  carrier: (typeof CARRIERS)[number] | undefined;
  networkHz: number | undefined;
  quality: string | undefined;
  light: string | undefined;
  /** The token for a server that requires one. */
  token: string | undefined;
  /** A STUN server, which returns a page's public address, for voices across networks. */
  stun: string | undefined;
  /** The requested moment of the room's history, for {@link worldAddress}. */
  at: string | undefined;
}

/** Reads a STUN server, such as `stun.example.org` or `stun.example.org:3478`. */
function stunOf(server: string | null): string | undefined {
  return server !== null && /^[a-z0-9.-]{1,200}(:\d{1,5})?$/i.test(server) ? `stun:${server}` : undefined;
}

/** The path below which the server of a page serves: `/`, or a base path such as `/game/`. */
export function basePath(pathname: string): string {
  return pathname.replace(/\/r\/[^/]+$/, "/").replace(/[^/]*$/, "");
}

export function readAddress(pathname: string, search: string): PageAddress {
  const query = new URLSearchParams(search);
  const hz = parseHz(query.get("hz"));
  const { room, asked } = readRoom(pathname);
  return {
    room: roomOf(room, query.get("world")),
    askedRoom: asked === room ? undefined : asked,
    name: query.get("name") ?? undefined,
    enter: query.get("enter") === "1",
    hud: query.get("hud") !== "0",
    carrier: CARRIERS.find((carrier) => carrier === query.get("carrier")),
    networkHz: hz === 0 ? undefined : hz,
    quality: query.get("quality") ?? undefined,
    light: query.get("light") ?? undefined,
    token: query.get("token") ?? undefined,
    stun: stunOf(query.get("stun")),
    at: readMoment(query.get("at")),
  };
}

/**
 * A server selects the world by the room's name: `football`, `football-anything`. If the requested room has another
 * name than the requested world, the world's name becomes the first part of the room's name.
 */
function roomOf(room: string | undefined, world: string | null): string | undefined {
  if (world === null || !NAME.test(world)) return room;
  if (room === undefined || room === world) return world;
  return room.startsWith(`${world}-`) ? room : `${world}-${room}`.slice(0, 32);
}

/** The name in a path, and the room to which it leads: the name in lower case, if that is valid. */
export function readRoom(pathname: string): {
  readonly asked: string | undefined;
  readonly room: string | undefined;
} {
  const encoded = /\/r\/([^/]+)\/?$/.exec(pathname)?.[1];
  if (encoded === undefined) return { asked: undefined, room: undefined };
  const asked = decode(encoded);
  const room = asked.toLowerCase();
  return { asked, room: NAME.test(room) ? room : undefined };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const NAME = /^[a-z0-9_-]{1,32}$/;

/**
 * A moment in the notation of room names: `-5m`, the number of a step, or a time such as `2026-11-23T10:00Z`, without
 * its hyphens and colons. `undefined` for other texts.
 */
export function readMoment(text: string | null): string | undefined {
  if (text === null) return undefined;
  if (/^(?:-\d{1,9}[smhd]|\d{1,15})$/.test(text)) return text;
  const time = text.replace(/[-:]/g, "");
  return /^\d{8}T\d{4}(?:\d{2}(?:\.\d{1,3})?)?Z$/.test(time) ? time : undefined;
}

/** The address of a room or its history on this page's server. */
export function worldAddress(page: Pick<Location, "origin" | "pathname">, room: string, at?: string): string {
  const name = at === undefined ? room : `${room}.${at}`;
  return `${page.origin}${basePath(page.pathname)}r/${name}`;
}

/** The address to share with other people, who can then join this room or see its history. */
export function shareAddress(page: Pick<Location, "origin" | "pathname">, room: string, at?: string): string {
  const address = `${page.origin}${basePath(page.pathname)}r/${room}`;
  return at === undefined ? address : `${address}?at=${at}`;
}

/** The query of a page's address with another moment. */
export function withMoment(search: string, at: string): string {
  const query = new URLSearchParams(search);
  query.set("at", at);
  return `?${query}`;
}

/** Returns the query of a page's address without a moment. A page opened with this query enters the room at once. */
export function withoutMoment(search: string): string {
  const query = new URLSearchParams(search);
  query.delete("at");
  query.set("enter", "1");
  return `?${query}`;
}
