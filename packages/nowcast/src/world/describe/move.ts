import { readAddress } from "../../connect/address.js";
import { isFields } from "./shape.js";

/** The event by which a server sends the clients of a room to the server to which the room moves. */
export const MOVE_EVENT = "@move";

/**
 * Reads the payload of the event {@link MOVE_EVENT}. Returns the address of the same room at the other server; `undefined` if
 * the payload has no usable address.
 */
export function readMove(payload: unknown, url: string): string | undefined {
  if (!isFields(payload) || typeof payload["address"] !== "string") return undefined;
  try {
    const { origin, protocol } = new URL(payload["address"]);
    return /^https?:$/.test(protocol) ? `${origin}/nowcast/${readAddress(url).name}` : undefined;
  } catch {
    return undefined;
  }
}
