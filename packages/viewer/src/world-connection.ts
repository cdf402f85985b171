// The only module of the viewer that joins worlds. `presence.ts` of `@nowcast/page/headset` owns head and hands, and
// `start/worlds.ts` lists worlds. The others handle drawn objects.

import { WorldView } from "@nowcast/three";
import type { Pose, WorldScene } from "@nowcast/three/internal";
import type { NowcastError } from "nowcast";
import type { ActionSource, ReportOutcome } from "nowcast/internal";
import { browserIdentity, joinWorld, type Player, type PlayerId, tabSeat, type World } from "nowcast/world";

export const NETWORK_HZ_MIN = 5;
export const NETWORK_HZ_MAX = 60;

export type Status = World["status"];

export type Carrier = "webtransport" | "websocket";

export const CARRIERS: readonly Carrier[] = ["webtransport", "websocket"];

/** The outcome of a version of the world's rules. */
export interface Report {
  readonly outcome: ReportOutcome;
  readonly version: number;
  /** File, line and cause; empty for a running version. */
  readonly text: string;
}

export interface WorldConnectionListener {
  statusChanged(status: Status): void;
  /** A connection is open. All state of an earlier connection has been removed. */
  welcomed(room: string, world: string, isResumed: boolean): void;
  /** The actions that are possible from now on. */
  defined(actions: readonly ActionSource[]): void;
  playerJoined(player: Player): void;
  playerRenamed(player: Player, before: string): void;
  playerLeft(player: Player): void;
  /** A player has another avatar, or none. */
  avatarChanged(): void;
  /** A value on the screen changed. */
  screenChanged(place: string): void;
  /** An event of the world's rules. */
  eventReceived(event: string, payload: unknown): void;
  refused(action: string, reason: string): void;
  reported(report: Report): void;
  chatted(player: number, name: string, text: string): void;
  /** The server dropped this number of chat lines, because this page's connection is too slow for them. */
  missed(lines: number): void;
  /** The server did not pass on a line of this page. */
  unsaid(text: string, reason: string): void;
  noticed(text: string): void;
  /** Movement of the world up to a step has arrived. */
  snapshotArrived(receivedAtMs: number): void;
  /** A connection ended. `retryInMs` is undefined if no other connection will follow. */
  lost(error: NowcastError, retryInMs: number | undefined): void;
}

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
  readonly #releases: (() => void)[] = [];

  constructor(
    url: string,
    readonly options: WorldConnectionOptions,
    listener: WorldConnectionListener,
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
    // The event `lost` reports the same error.
    this.world.ready.catch(() => undefined);
    this.#view = new WorldView(this.world, { scene });
    this.#listen(listener);
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
    for (const release of this.#releases) release();
    this.#view.dispose();
    this.world.close();
  }

  #listen(listener: WorldConnectionListener): void {
    const { world } = this;
    const releases = this.#releases;
    releases.push(
      world.on("status", (event) => listener.statusChanged(event.status)),
      world.on("welcome", ({ room, world, isResumed }) => listener.welcomed(room, world, isResumed)),
      world.on("define", ({ definition }) => listener.defined(definition.actions)),
      world.on("joined", ({ player }) => listener.playerJoined(player)),
      world.on("renamed", ({ player, before }) => listener.playerRenamed(player, before)),
      world.on("avatar", () => listener.avatarChanged()),
      world.on("left", (event) => listener.playerLeft(event.player)),
      world.on("screen", ({ place }) => listener.screenChanged(place)),
      world.on("event", ({ name, payload }) => listener.eventReceived(name, payload)),
      world.on("refused", ({ action, reason }) => listener.refused(action, reason)),
      world.on("report", (report) => listener.reported(report)),
      world.on("chat", (event) => listener.chatted(event.from, event.name, event.text)),
      world.on("snapshot", (event) => listener.snapshotArrived(event.receivedAtMs)),
      world.on("missed", (event) => listener.missed(event.lines)),
      world.on("unsaid", (event) => listener.unsaid(event.text, event.reason)),
      world.on("notice", (event) => listener.noticed(event.text)),
      world.on("error", (event) => listener.lost(event.error, event.retryInMs)),
    );
  }
}
