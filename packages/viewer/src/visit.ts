import type { WorldScene } from "@nowcast/three/internal";
import type { Settings } from "./settings.js";
import { type Entry, WorldConnection } from "./world-connection.js";
import type { WorldEvents } from "./world-events.js";

/** The parts of the page that a visit needs. */
export interface VisitParts {
  readonly settings: Settings;
  readonly scene: WorldScene;
  readonly events: WorldEvents;
  /** Removes everything that is shown of a world. */
  clear(): void;
  /** Called when a connection begins. */
  began(connection: WorldConnection): void;
}

/** The connection to the world of a room, from entering to leaving. */
export class Visit {
  connection: WorldConnection | undefined;
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
    this.connection?.close();
    this.connection = undefined;
    this.#page.clear();
  }

  rejoin(): void {
    this.leave();
    const { settings, scene, events } = this.#page;
    const { name, networkHz } = settings;
    const options = { name, networkHz, ...this.#entry };
    this.connection = new WorldConnection(this.#address, options, scene);
    this.#end = new AbortController();
    events.follow(this.connection.world, this.#end.signal);
    this.#page.began(this.connection);
  }

  /** Applies settings that differ from those `before`; joins the world again only if necessary. */
  applySettings(before: Readonly<Settings>): void {
    const { connection } = this;
    const { name, networkHz } = this.#page.settings;
    if (!connection) return;
    if (before.name !== name && name !== "") connection.rename(name);
    if (before.networkHz === networkHz) return;
    // The protocol has no value for the server's own rate, so the page reconnects and omits the rate.
    if (networkHz === 0) this.rejoin();
    else connection.setRate(networkHz);
  }
}
