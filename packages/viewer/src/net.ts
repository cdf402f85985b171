// The one place in the viewer that knows the SDK. The rest deals in bodies and poses.

import type { NowcastError } from "nowcast";
import {
  createInterpolator,
  createPredictor,
  ENCODINGS,
  type Encoding,
  type Entity,
  type EntityId,
  type Interpolator,
  joinWorld,
  type Predictor,
  type ReportOutcome,
  type World,
} from "nowcast/world";
import { Euler, Quaternion } from "three";
import type { ActionFacts } from "./actions.js";
import { type Body, describeBody, isShown } from "./body.js";
import type { Steering } from "./input/controls.js";
import type { PlayerFacts } from "./people.js";
import type { Pose } from "./pose.js";

/** How the world travels: on a session over the best carrier, or by the plain protocol in one of its encodings. */
export type Transport = "session" | Encoding;

export const TRANSPORTS: readonly Transport[] = ["session", ...ENCODINGS];

export const NETWORK_HZ_MIN = 5;
export const NETWORK_HZ_MAX = 60;

export type Status = World["status"];

export type Carrier = "webtransport" | "websocket";

export const CARRIERS: readonly Carrier[] = ["webtransport", "websocket"];

/** What became of a version of the world's rules. */
export interface Report {
  readonly outcome: ReportOutcome;
  readonly version: number;
  /** File, line and cause; empty for what runs. */
  readonly text: string;
}

export interface NetListener {
  statusChanged(status: Status): void;
  /** A connection is up; everything of an earlier one has been removed. */
  welcomed(): void;
  /** What can be done here, from now on. */
  defined(actions: readonly ActionFacts[]): void;
  spawned(body: Body, pose: Pose): void;
  /** It looks otherwise, or was put somewhere else; `pose` is the newest known. */
  changed(body: Body, pose: Pose): void;
  despawned(id: number): void;
  /** Came, has another name, or another avatar. */
  playerChanged(player: PlayerFacts): void;
  playerLeft(player: PlayerFacts): void;
  /** What stands on the screen is different. */
  screenChanged(): void;
  /** Something that the world's rules tell. */
  told(event: string, payload: unknown): void;
  refused(action: string, reason: string): void;
  reported(report: Report): void;
  chatted(player: number, name: string, text: string): void;
  /** So many lines of chat were left out, because this page's connection is too slow for them. */
  missed(lines: number): void;
  noticed(text: string): void;
  /** The world's movement up to a moment has arrived. */
  snapshotArrived(receivedAtMs: number): void;
  /** A connection ended; `retryInMs` is undefined when none will follow. */
  lost(error: NowcastError, retryInMs: number | undefined): void;
}

/** How a page comes in, by its address. */
export interface Entry {
  /** Only this carrier, for a session; all that there are without. */
  carrier?: Carrier | undefined;
  /** Lets in where the server wants one. */
  token?: string | undefined;
}

export interface NetOptions extends Entry {
  name: string;
  transport: Transport;
  /** 0 leaves it to the server. */
  networkHz: number;
}

/** A seat in a world, and what is seen from it. */
export class Net {
  readonly world: World;
  readonly interpolator: Interpolator;
  readonly predictor: Predictor;
  /** Whether one's own avatar is shown where its steps lead, not where the server had it. */
  isPredicted = false;
  private readonly releases: (() => void)[] = [];
  /** How far ahead of the server's word one's own avatar is shown, in metres. */
  private readonly lead = new Float64Array(3);
  private readonly shown = { position: new Float64Array(3), quaternion: new Float64Array(4) };

  constructor(
    url: string,
    readonly options: NetOptions,
    listener: NetListener,
  ) {
    const { name, transport, carrier, token, networkHz } = options;
    this.world = joinWorld(url, {
      ...(transport === "session"
        ? { protocol: "session", carriers: carrier === undefined ? undefined : [carrier] }
        : { protocol: "plain", encoding: transport }),
      ...(name === "" ? {} : { name }),
      ...(token === undefined ? {} : { token }),
      ...(networkHz === 0 ? {} : { networkHz }),
    });
    // Whoever waits for it is told by `lost` as well.
    this.world.ready.catch(() => undefined);
    this.interpolator = createInterpolator(this.world);
    this.predictor = createPredictor(this.world);
    this.listen(listener);
  }

  get status(): Status {
    return this.world.status;
  }

  /** What one's own controls move; spectators have none. */
  get avatar(): number | undefined {
    return this.world.avatarId;
  }

  get player(): number | undefined {
    return this.world.playerId;
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

  /** What carries the messages now, and what they are made of. */
  get carrier(): string {
    const { transport } = this.options;
    if (transport !== "session") return `WebSocket, ${transport}`;
    return this.stats.link?.carrier ?? "–";
  }

  get delayMs(): number {
    return this.interpolator.delayMs;
  }

  steer(steering: Steering): void {
    this.predictor.input(steering);
  }

  act(action: string, args: Readonly<Record<string, unknown>>): void {
    this.world.act(action, args);
  }

  /** Whether an attribute of one's own person is set: nil, false, 0 and empty text are not. */
  hasAttribute(name: string): boolean {
    const { avatarId, entities } = this.world;
    const own = avatarId === undefined ? undefined : entities.get(avatarId);
    return Boolean(own?.attributes[name]);
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

  /** Moves what `pose` answers to where things are shown at `nowMs`. */
  sample(nowMs: number): void {
    this.interpolator.sample(nowMs);
    this.predictor.sample(nowMs);
    const { avatarId } = this.world;
    const { position } = this.shown;
    this.isPredicted = avatarId !== undefined && this.predictor.pose(this.shown);
    if (!this.isPredicted) return;
    for (let axis = 0; axis < 3; axis++) this.lead[axis] = position[axis]!;
    this.isPredicted = this.interpolator.pose(avatarId!, this.shown);
    for (let axis = 0; axis < 3; axis++) this.lead[axis] = this.lead[axis]! - position[axis]!;
  }

  pose(id: number, out: Pose): boolean {
    if (!this.interpolator.pose(id as EntityId, this.shown)) return false;
    const { position, quaternion } = this.shown;
    if (this.isPredicted && this.goesAlong(id)) {
      for (let axis = 0; axis < 3; axis++) position[axis] = position[axis]! + this.lead[axis]!;
    }
    out.x = position[0]!;
    out.y = position[1]!;
    out.z = position[2]!;
    out.qx = quaternion[0]!;
    out.qy = quaternion[1]!;
    out.qz = quaternion[2]!;
    out.qw = quaternion[3]!;
    return true;
  }

  /** One's own avatar, and what it holds. */
  private goesAlong(id: number): boolean {
    const { avatarId, entities } = this.world;
    if (avatarId === undefined || id === avatarId) return id === avatarId;
    return entities.get(avatarId)?.attributes["holding"] === id;
  }

  close(): void {
    for (const release of this.releases) release();
    this.interpolator.close();
    this.predictor.close();
    this.world.close();
  }

  private listen(listener: NetListener): void {
    const { world, releases } = this;
    releases.push(
      world.on("status", (event) => listener.statusChanged(event.status)),
      world.on("welcome", () => listener.welcomed()),
      world.on("define", ({ definition }) => {
        listener.defined(definition.actions);
        // Kinds may look otherwise now, and no change says so.
        for (const entity of world.entities.values()) listener.changed(describeBody(entity), poseOf(entity));
      }),
      world.on("spawn", (event) => {
        for (const entity of event.entities) listener.spawned(describeBody(entity), poseOf(entity));
      }),
      world.on("change", ({ entity, names }) => {
        if (isShown(names)) listener.changed(describeBody(entity), poseOf(entity));
      }),
      world.on("despawn", (event) => {
        for (const entity of event.entities) listener.despawned(entity.id);
      }),
      world.on("player", (event) => listener.playerChanged(event.player)),
      world.on("left", (event) => listener.playerLeft(event.player)),
      world.on("screen", () => listener.screenChanged()),
      world.on("event", ({ name, payload }) => listener.told(name, payload)),
      world.on("refused", ({ action, reason }) => listener.refused(action, reason)),
      world.on("report", (report) => listener.reported(report)),
      world.on("chat", (event) => listener.chatted(event.from, event.name, event.text)),
      world.on("snapshot", (event) => listener.snapshotArrived(event.receivedAtMs)),
      world.on("missed", (event) => listener.missed(event.lines)),
      world.on("notice", (event) => listener.noticed(event.text)),
      world.on("error", (event) => listener.lost(event.error, event.retryInMs)),
    );
  }
}

function poseOf(entity: Entity): Pose {
  const [x, y, z] = entity.position;
  EULER.set(entity.euler[0], entity.euler[1], entity.euler[2], "XYZ");
  QUATERNION.setFromEuler(EULER);
  return { x, y, z, qx: QUATERNION.x, qy: QUATERNION.y, qz: QUATERNION.z, qw: QUATERNION.w };
}

const EULER = new Euler();
const QUATERNION = new Quaternion();
