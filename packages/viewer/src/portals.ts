import type { Portal } from "nowcast/internal";

/** Moves this page from one room to another through portals. */
export class Portals {
  #portal: Portal | undefined;
  readonly #enter: (room: string) => void;

  /** `enter` goes to another room. */
  constructor(enter: (room: string) => void) {
    this.#enter = enter;
  }

  travel(portal: Portal): void {
    this.#portal = portal;
    // The connection calls this while it handles a message. It is closed afterwards.
    queueMicrotask(() => this.#enter(portal.room));
  }

  /** Returns the ticket with which this page came to a room, once. */
  takeTicket(room: string): string | undefined {
    if (this.#portal?.room !== room) return undefined;
    const { ticket } = this.#portal;
    this.#portal = undefined;
    return ticket;
  }
}
