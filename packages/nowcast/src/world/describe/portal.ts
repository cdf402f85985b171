import { isFields } from "./shape.js";

/** The event by which a server sends a page to another room on the same server. */
export const PORTAL_EVENT = "@go";

/** The action by which a page that came to a room hands in its ticket: `world.act(ARRIVE_ACTION, { ticket })`. */
export const ARRIVE_ACTION = "@arrive";

/** A portal to another room on the same server. */
export interface Portal {
  readonly room: string;
  /** Stands for the data that the player carries. It is valid once, for a minute, in that room. */
  readonly ticket: string;
}

/** Reads the payload of the event {@link PORTAL_EVENT}; `undefined` if it names no room. */
export function readPortal(payload: unknown): Portal | undefined {
  if (!isFields(payload)) return undefined;
  const { room, ticket } = payload;
  if (typeof room !== "string" || !/^[a-z0-9_-]{1,32}$/.test(room)) return undefined;
  return typeof ticket === "string" ? { room, ticket } : undefined;
}
