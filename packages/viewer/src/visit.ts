import { WorldView } from "@nowcast/three";
import type { WorldScene } from "@nowcast/three/internal";
import { browserIdentity, joinWorld, tabSeat } from "nowcast/world";
import type { Settings } from "./settings.js";
import type { WorldEvents } from "./world-events.js";

export type Carrier = "webtransport" | "websocket";

export const CARRIERS: readonly Carrier[] = ["webtransport", "websocket"];

/** The options of a join, from the page's address. */
export interface Entry {
  /** The only carrier to use; by default all available carriers are used. */
  carrier?: Carrier | undefined;
  /** The token for a server that requires one. */
  token?: string | undefined;
}

/** The parts of the page that a visit needs. */
export interface VisitParts {
  readonly settings: Settings;
  readonly scene: WorldScene;
  readonly events: WorldEvents;
  /** Removes everything that is shown of a world. */
  clear(): void;
  /** Called when the page begins to join a world. */
  began(view: WorldView): void;
}

/** The stay in the world of a room, from entering to leaving. */
export class Visit {
  /** The world, and its drawing. */
  view: WorldView | undefined;
  readonly #page: VisitParts;
  #address = "";
  #entry: Entry = {};
  #end = new AbortController();

  constructor(page: VisitParts) {
    this.#page = page;
  }

  enter(address: string, entry: Entry): void {
    this.#address = address;
    this.#entry = entry;
    this.rejoin();
  }

  leave(): void {
    this.#end.abort();
    this.view?.dispose();
    this.view?.world.close();
    this.view = undefined;
    this.#page.clear();
  }

  rejoin(): void {
    this.leave();
    const { settings, scene, events } = this.#page;
    const { name, networkHz } = settings;
    const { carrier, token } = this.#entry;
    const world = joinWorld(this.#address, {
      identity: browserIdentity(),
      seat: tabSeat(),
      retry: true,
      ...(carrier === undefined ? {} : { carriers: [carrier] }),
      ...(name === "" ? {} : { name }),
      ...(token === undefined ? {} : { token }),
      ...(networkHz === 0 ? {} : { networkHz }),
    });
    this.view = new WorldView(world, { scene });
    this.#end = new AbortController();
    events.follow(world, this.#end.signal);
    this.#page.began(this.view);
  }

  /** Applies settings that differ from those `before`; joins the world again only if necessary. */
  applySettings(before: Readonly<Settings>): void {
    const world = this.view?.world;
    const { name, networkHz } = this.#page.settings;
    if (!world) return;
    if (before.name !== name && name !== "") world.rename(name);
    if (before.networkHz === networkHz) return;
    // The protocol has no value for the server's own rate, so the page reconnects and omits the rate.
    if (networkHz === 0) this.rejoin();
    else world.setRate(networkHz);
  }
}
