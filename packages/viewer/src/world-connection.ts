// The only module of the viewer that joins worlds. `presence.ts` of `@nowcast/page/headset` owns head and hands, and
// `start/worlds.ts` lists worlds. The others handle drawn objects.

import { WorldView } from "@nowcast/three";
import type { Pose, WorldScene } from "@nowcast/three/internal";
import { browserIdentity, joinWorld, type Player, type PlayerId, tabSeat, type World } from "nowcast/world";

export const NETWORK_HZ_MIN = 5;
export const NETWORK_HZ_MAX = 60;

export type Status = World["status"];

export type Carrier = "webtransport" | "websocket";

export const CARRIERS: readonly Carrier[] = ["webtransport", "websocket"];

/** The options of a join, from the page's address. */
export interface Entry {
  /** The only carrier to use; by default all available carriers are used. */
  carrier?: Carrier | undefined;
  /** The token for a server that requires one. */
  token?: string | undefined;
}

export interface WorldConnectionOptions extends Entry {
  name: string;
  /** Snapshots a second; 0 selects the server's own rate. */
  networkHz: number;
}

/** A joined world, and its drawing. */
export class WorldConnection {
  readonly world: World;
  readonly #view: WorldView;

  constructor(
    url: string,
    readonly options: WorldConnectionOptions,
    scene: WorldScene,
  ) {
    const { name, carrier, token, networkHz } = options;
    this.world = joinWorld(url, {
      identity: browserIdentity(),
      seat: tabSeat(),
      retry: true,
      ...(carrier === undefined ? {} : { carriers: [carrier] }),
      ...(name === "" ? {} : { name }),
      ...(token === undefined ? {} : { token }),
      ...(networkHz === 0 ? {} : { networkHz }),
    });
    // The event `error` reports the same error.
    this.world.ready.catch(() => undefined);
    this.#view = new WorldView(this.world, { scene });
  }

  get status(): Status {
    return this.world.status;
  }

  /** The entity that the local player's input moves; spectators have none. */
  get avatar(): number | undefined {
    return this.world.avatarId;
  }

  get player(): number | undefined {
    return this.world.playerId;
  }

  playerOf(id: number): Player | undefined {
    return this.world.players.get(id as PlayerId);
  }

  get entityCount(): number {
    return this.world.entities.size;
  }

  get screen(): ReadonlyMap<string, unknown> {
    return this.world.screen;
  }

  get stats(): World["stats"] {
    return this.world.stats;
  }

  get carrier(): string {
    return this.stats.link?.carrier ?? "–";
  }

  get delayMs(): number {
    return this.world.display.delayMs;
  }

  act(action: string, args: Readonly<Record<string, unknown>>): void {
    // Rejections are ignored: the page shows a lost connection by the world's status.
    this.world.act(action, args).catch(() => undefined);
  }

  /** Whether an attribute of the local avatar is set: nil, false, 0 and empty text count as not set. */
  hasAttribute(name: string): boolean {
    if (name === "holding") return this.world.display.holding !== undefined;
    return Boolean(this.world.avatar?.attributes[name]);
  }

  chat(text: string): void {
    this.world.chat(text);
  }

  rename(name: string): void {
    this.world.rename(name);
  }

  setRate(hz: number): void {
    this.world.setRate(hz);
  }

  /** Chooses the moment for which `pose` returns poses. */
  sample(nowMs: number): void {
    this.world.frame(nowMs);
  }

  pose(id: number, out: Pose): boolean {
    return this.#view.pose(id, out);
  }

  /** Moves all entities to their poses at the sampled moment; the entity `hidden` is not drawn. */
  place(seconds: number, hidden: number | undefined): void {
    this.#view.place(seconds, hidden);
  }

  close(): void {
    this.#view.dispose();
    this.world.close();
  }
}
