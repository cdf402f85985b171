/// <reference lib="esnext.disposable" preserve="true" />
import type { CarrierKind } from "../carrier/carrier.js";
import type { NowcastError } from "../errors/nowcast-error.js";
import type { WaitOptions } from "../events/waiting.js";
import type { WebSocketConstructor } from "../websocket/websocket.js";

declare const entityIdBrand: unique symbol;

/** Number of an entity in its world. A server that restarts hands out new ones. */
export type EntityId = number & { readonly [entityIdBrand]: true };

/** How movement travels: see `spec/PLAIN.md`, section 2. */
export type Encoding = "json" | "msgpack" | "custom" | "custom16";

/** Every encoding, in the order in which the specification lists them. */
export const ENCODINGS: readonly Encoding[] = ["json", "msgpack", "custom", "custom16"];

/** What the messages of a world are made of. */
export type Protocol = "session" | "plain";

/** x, y and z: metres with Y up, or Euler angles in radians in intrinsic XYZ order. */
export type Vec3 = readonly [number, number, number];

/** `static` and `block` are boxes; an avatar is a capsule 1.8 m tall and 0.35 m in radius. */
export type EntityKind = "static" | "block" | "avatar";

/**
 * One thing in the world, as newest known. The object lives as long as the entity does and is updated in place: copy
 * what you want to keep.
 */
export interface Entity {
  readonly id: EntityId;
  readonly kind: EntityKind;
  /** Full edge lengths in metres; avatars have none. */
  readonly size: Vec3 | undefined;
  /** 0xRRGGBB. */
  readonly color: number;
  /** Only avatars have one. It is what a person typed: show it as text, never as markup. */
  readonly name: string | undefined;
  /** The block that this avatar carries. */
  readonly heldBlock: EntityId | undefined;
  /** Of the centre, in metres. */
  readonly position: Vec3;
  /** Intrinsic XYZ, in radians (the order that three.js calls `'XYZ'`). */
  readonly euler: Vec3;
  /** World step at which the pose was last heard to change. */
  readonly tick: number;
  /** World step up to which it was where it was before, if that was heard of (sessions tell it). */
  readonly stillTick?: number | undefined;
}

/** What the controls say now. It holds until the next one. */
export interface Input {
  /** −1 to 1, in the direction that `yaw` faces; values beyond are clamped. */
  readonly forward: number;
  /** −1 to 1, to the right of the direction that `yaw` faces; values beyond are clamped. */
  readonly right: number;
  /** Radians; 0 faces −Z and grows counter-clockwise seen from above. */
  readonly yaw: number;
  readonly run: boolean;
  readonly jump: boolean;
}

/**
 * `connecting` until the first welcome, `open` from a welcome on, `reconnecting` from the loss of a connection until the
 * next welcome (or until the same session goes on, which needs none), `closed` for good. The same for both protocols.
 */
export type WorldStatus = "connecting" | "open" | "reconnecting" | "closed";

/** How the messages travel, for displays. */
export interface WorldLink {
  /** What carries them now; `undefined` while nothing does. */
  readonly carrier: "WebTransport" | "WebSocket" | undefined;
  /** Of all that this program sent, the share that was lost, 0 to 1. */
  readonly loss: number;
  /** How old the server's news is when it arrives, by the estimate of its clock; `undefined` before it is known. */
  readonly freshnessMs: number | undefined;
  /** Values that were never sent, because newer ones replaced them. */
  readonly superseded: number;
  /** Values and events that were sent again after a loss. */
  readonly resent: number;
  /** How often the session went on over another carrier. */
  readonly resumed: number;
}

/** Figures for a network graph. Rates are means over the last second; bytes are payload bytes received. */
export interface WorldStats {
  /** Smoothed round trip from this program through the server and back; `undefined` before the first. */
  readonly pingMs: number | undefined;
  readonly packetsPerSecond: number;
  readonly bytesPerSecond: number;
  /** Snapshots received since `joinWorld`. */
  readonly snapshots: number;
  /** Smoothed spacing of snapshots on the server's clock; `undefined` before the second. */
  readonly snapshotIntervalMs: number | undefined;
  /** Smoothed deviation of their arrival from that spacing, as RFC 3550 defines jitter. */
  readonly jitterMs: number;
  /** Times that a lost connection was replaced by a new one. */
  readonly reconnects: number;
  /** Messages of types this SDK does not know, which a later server may send. */
  readonly unknownMessages: number;
  /** Poses and facts about entities that were never spawned. */
  readonly unknownEntities: number;
  /** Actions and chat lines that were not sent, because there was no connection or the world was closed. */
  readonly unsentActions: number;
  /** Of a session; the plain protocol knows none of it. */
  readonly link?: WorldLink | undefined;
}

/** What `World.on` can listen to. */
export interface WorldEvents {
  status: { readonly status: WorldStatus };
  /** A connection is up. After a reconnect the ids are new: every earlier entity was despawned just before. */
  welcome: {
    readonly avatarId: EntityId;
    readonly room: string;
    readonly stepHz: number;
    readonly networkHz: number;
    readonly tick: number;
  };
  spawn: { readonly entities: readonly Entity[] };
  /** The entities as last known; they are no longer in `World.entities`. */
  despawn: { readonly entities: readonly Entity[] };
  /** `moved` lists what moved since the previous snapshot: an entity that is not in it did not. */
  snapshot: { readonly tick: number; readonly receivedAtMs: number; readonly moved: readonly Entity[] };
  /** `name` and `text` are what people typed: show them as text, never as markup. */
  chat: { readonly from: EntityId; readonly name: string; readonly text: string };
  /** So many lines of chat were left out here, because this client had not read those before. */
  missed: { readonly lines: number };
  hold: { readonly avatar: Entity; readonly block: Entity | undefined };
  rename: { readonly entity: Entity; readonly name: string };
  rate: { readonly networkHz: number };
  notice: { readonly text: string };
  /**
   * A connection was lost or could not be made. `error.code` says why, the same for both protocols, and `error.closeCode` is
   * the number that the server gave (below 1,000 of a session, else of a WebSocket). `retryInMs` is `undefined` when the
   * world closes for good.
   */
  error: { readonly error: NowcastError; readonly retryInMs: number | undefined };
}

export interface JoinOptions {
  /**
   * `session` goes over the best carrier there is and survives its loss (`spec/WORLD.md`); `plain` is JSON, MessagePack or
   * packed records over a WebSocket (`spec/PLAIN.md`). By default the address decides: `ws:` and `wss:` are plain.
   */
  readonly protocol?: Protocol | undefined;
  /** The avatar's name, shortened to 24 characters; the server picks `guest-ID` when there is none. */
  readonly name?: string | undefined;
  /** How movement travels over the plain protocol. `custom16` by default: the smallest. */
  readonly encoding?: Encoding | undefined;
  /** Snapshots a second, 5 to 60, rounded to a whole number; the server's own rate by default. */
  readonly networkHz?: number | undefined;
  /** Whether to connect again after a loss, with a growing and jittered pause of 250 ms to 5 s. True by default. */
  readonly reconnect?: boolean | undefined;
  /** Another WebSocket. By default the global one, and in a Node without it the SDK's own small client. */
  readonly WebSocket?: WebSocketConstructor | undefined;
  /** Lets in where the server wants one (`spec/CARRIERS.md`, section 7); the avatar then has the name that it says. */
  readonly token?: string | undefined;
  /** The carriers that a session may use, the best first; all that there are by default. */
  readonly carriers?: readonly CarrierKind[] | undefined;
}

/** A seat in a shared world. It connects, and connects again, by itself. */
export interface World {
  readonly status: WorldStatus;
  /** Your avatar; `undefined` until the first welcome. */
  readonly avatarId: EntityId | undefined;
  readonly entities: ReadonlyMap<EntityId, Entity>;
  readonly stats: WorldStats;

  /**
   * Says what the controls say now. State: only the newest counts, so call it as often as you like. It is sent when it
   * changes, at most 30 times a second, and again after a reconnect. A jump between two sends is not lost.
   */
  input(input: Input): void;
  /** Takes a block, or the nearest one within reach in front. Without a connection it is dropped and counted. */
  grab(block?: EntityId): void;
  /** Lets go: `power` 0 puts down, 1 throws hard; `pitch` in radians above the horizon. Dropped and counted without a connection. */
  throw(power: number, pitch: number): void;
  /** Servers shorten a line to 300 characters. Without a connection up to 16 lines wait for the next one; more are dropped and counted. */
  chat(text: string): void;
  /** Also remembered for later connections. */
  rename(name: string): void;
  /** Asks for another snapshot rate, 5 to 60, rounded to a whole number; also remembered for later connections. */
  setRate(hz: number): void;

  /**
   * Calls `listener` at every such event until the returned function is called, `signal` says so, or the world is closed. A listener that is
   * added inside a callback hears from the next event on.
   */
  on<K extends keyof WorldEvents>(
    type: K,
    listener: (event: WorldEvents[K]) => void,
    options?: WaitOptions,
  ): () => void;
  /** The next event of this type; refused when the world is closed before, or `signal` gives up. */
  once<K extends keyof WorldEvents>(type: K, options?: WaitOptions): Promise<WorldEvents[K]>;
  /** At the end of `using`: leaves. */
  [Symbol.dispose](): void;
  /** Leaves for good: after the status `closed` no event follows. */
  close(): void;
}
