// The one place in the viewer that knows the SDK. The rest deals in bodies and poses.

import type { NowcastError } from "nowcast";
import {
  createInterpolator,
  ENCODINGS,
  type Encoding,
  type Entity,
  type EntityId,
  type Interpolator,
  joinWorld,
  type World,
} from "nowcast/world";
import { Euler, Quaternion } from "three";

/** How the world travels: on a session over the best carrier, or by the plain protocol in one of its encodings. */
export type Transport = "session" | Encoding;

export const TRANSPORTS: readonly Transport[] = ["session", ...ENCODINGS];

export const NETWORK_HZ_MIN = 5;
export const NETWORK_HZ_MAX = 60;

export type Status = World["status"];

export type Carrier = "webtransport" | "websocket";

export const CARRIERS: readonly Carrier[] = ["webtransport", "websocket"];

/** A thing in the world without its pose. */
export interface Body {
  readonly id: number;
  readonly kind: "static" | "block" | "avatar";
  /** Full edge lengths in metres; an avatar's is that of the box around its capsule. */
  readonly size: readonly [number, number, number];
  readonly color: number;
  readonly name: string;
  readonly held: number | undefined;
}

/** Where a thing is: its centre in metres and its orientation as a quaternion. */
export interface Pose {
  x: number;
  y: number;
  z: number;
  qx: number;
  qy: number;
  qz: number;
  qw: number;
}

export function createPose(): Pose {
  return { x: 0, y: 0, z: 0, qx: 0, qy: 0, qz: 0, qw: 1 };
}

/** What the controls say in this frame. */
export interface Steering {
  forward: number;
  right: number;
  yaw: number;
  run: boolean;
  jump: boolean;
}

export interface NetListener {
  statusChanged(status: Status): void;
  /** A connection is up; everything of an earlier one has been removed. */
  welcomed(avatar: number): void;
  spawned(body: Body, pose: Pose): void;
  despawned(id: number): void;
  held(avatar: number, block: number | undefined): void;
  renamed(id: number, name: string): void;
  chatted(from: number, name: string, text: string): void;
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
  private readonly releases: (() => void)[] = [];
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
    this.interpolator = createInterpolator(this.world);
    this.listen(listener);
  }

  get status(): Status {
    return this.world.status;
  }

  get avatar(): number | undefined {
    return this.world.avatarId;
  }

  get entityCount(): number {
    return this.world.entities.size;
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
    this.world.input(steering);
  }

  grab(block: number | undefined): void {
    this.world.grab(block as EntityId | undefined);
  }

  throw(power: number, pitch: number): void {
    this.world.throw(power, pitch);
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
  }

  pose(id: number, out: Pose): boolean {
    if (!this.interpolator.pose(id as EntityId, this.shown)) return false;
    const { position, quaternion } = this.shown;
    out.x = position[0]!;
    out.y = position[1]!;
    out.z = position[2]!;
    out.qx = quaternion[0]!;
    out.qy = quaternion[1]!;
    out.qz = quaternion[2]!;
    out.qw = quaternion[3]!;
    return true;
  }

  close(): void {
    for (const release of this.releases) release();
    this.interpolator.close();
    this.world.close();
  }

  private listen(listener: NetListener): void {
    const { world, releases } = this;
    releases.push(
      world.on("status", (event) => listener.statusChanged(event.status)),
      world.on("welcome", (event) => listener.welcomed(event.avatarId)),
      world.on("spawn", (event) => {
        for (const entity of event.entities) listener.spawned(bodyOf(entity), poseOf(entity));
      }),
      world.on("despawn", (event) => {
        for (const entity of event.entities) listener.despawned(entity.id);
      }),
      world.on("hold", (event) => listener.held(event.avatar.id, event.block?.id)),
      world.on("rename", (event) => listener.renamed(event.entity.id, event.name)),
      world.on("chat", (event) => listener.chatted(event.from, event.name, event.text)),
      world.on("snapshot", (event) => listener.snapshotArrived(event.receivedAtMs)),
      world.on("missed", (event) => listener.missed(event.lines)),
      world.on("notice", (event) => listener.noticed(event.text)),
      world.on("error", (event) => listener.lost(event.error, event.retryInMs)),
    );
  }
}

function bodyOf(entity: Entity): Body {
  return {
    id: entity.id,
    kind: entity.kind,
    size: entity.size ?? [0.7, 1.8, 0.7],
    color: entity.color,
    name: entity.name ?? "",
    held: entity.heldBlock,
  };
}

function poseOf(entity: Entity): Pose {
  const [x, y, z] = entity.position;
  EULER.set(entity.euler[0], entity.euler[1], entity.euler[2], "XYZ");
  QUATERNION.setFromEuler(EULER);
  return { x, y, z, qx: QUATERNION.x, qy: QUATERNION.y, qz: QUATERNION.z, qw: QUATERNION.w };
}

const EULER = new Euler();
const QUATERNION = new Quaternion();
