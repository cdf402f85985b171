import { ARRIVE_ACTION, PORTAL_EVENT, type Portal, readPortal } from "nowcast/internal";
import type { World } from "nowcast/world";

/** Moves a page from one room of a server to another, through the portals of worlds. */
export class Portals {
  /** The portal through which the page goes. */
  #portal: Portal | undefined;
  readonly #enter: (room: string) => void;

  /** `enter` leaves the world, and joins the world of another room. */
  constructor(enter: (room: string) => void) {
    this.#enter = enter;
  }

  /** Follows the portals of a world that is being joined, and hands in the ticket with which the page came to its room. */
  follow(world: World): void {
    const ticket = this.#portal?.ticket;
    this.#portal = undefined;
    // A world that cannot be joined reports the reason by its events.
    if (ticket !== undefined) {
      world.ready.then(() => world.act(ARRIVE_ACTION, { ticket })).catch(() => undefined);
    }
    world.on(`event:${PORTAL_EVENT}`, ({ payload }) => {
      const portal = readPortal(payload);
      // The world calls this while it handles a message. It is closed afterwards.
      if (portal) queueMicrotask(() => this.#travel(world, portal));
    });
  }

  #travel(world: World, portal: Portal): void {
    if (world.status === "closed") return;
    this.#portal = portal;
    this.#enter(portal.room);
  }
}
