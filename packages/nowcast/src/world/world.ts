/// <reference lib="esnext.disposable" preserve="true" />
import type { CarrierKind, CarrierWrapper } from "../carrier/carrier.js";
import type { NowcastError } from "../errors/nowcast-error.js";
import type { WaitOptions } from "../events/cancellable-waits.js";
import type { Identity } from "../identity/identity.js";
import type { WebSocketConstructor } from "../websocket/websocket.js";
import type {
  Definition,
  Entity,
  EntityId,
  EntityPart,
  Player,
  PlayerId,
  Quaternion,
  Vec3,
  WorldRecord,
} from "./contents.js";
import type { Seat } from "./tab-seat.js";

export type * from "./contents.js";

/** An owner's target for its entity. */
export interface OwnedPose {
  readonly position: Vec3;
  /** The target rotation; by default the entity's current rotation. */
  readonly quaternion?: Quaternion | undefined;
  /**
   * The entity's velocity in metres a second, if known. The server extrapolates the pose with it for a tenth of a
   * second.
   */
  readonly velocity?: Vec3 | undefined;
  /** The angular velocity: a vector along the axis of rotation, whose length is the speed in radians a second. */
  readonly spin?: Vec3 | undefined;
}

/** An entity's initial state, when an owner spawns the entity. */
export interface SpawnOptions extends WaitOptions {
  readonly position: Vec3;
  readonly quaternion?: Quaternion | undefined;
  /**
   * Attributes that differ from their defaults. Only attributes that an owner may set are allowed.
   */
  readonly attributes?: WorldRecord | undefined;
}

/** The player's current input. It holds until the next one. */
export interface Input {
  /** −1 to 1, in the direction that `yaw` faces. Greater values are clamped. */
  readonly forward: number;
  /** −1 to 1, to the right of the direction that `yaw` faces. Greater values are clamped. */
  readonly right: number;
  /** The angle in radians. At 0 the avatar faces −Z. The angle grows counter-clockwise, seen from above. */
  readonly yaw: number;
  readonly run: boolean;
  readonly jump: boolean;
}

/** A pose in three dimensions: an `Object3D` of three.js is one. */
export interface Pose {
  readonly position: { x: number; y: number; z: number };
  readonly quaternion: { x: number; y: number; z: number; w: number };
}

/**
 * How avatars of one kind move. It takes the same steps as the world's rules, 60 a second. You define the state type
 * `S`. Treat states as immutable: the newest 256 are kept, and steps are repeated from them.
 */
export interface AvatarMotion<S = unknown> {
  /**
   * Reads the state after a step from the server's entity. `predicted` is the state that was predicted for the same
   * step, for values that the server does not send, such as a velocity; `undefined` at the beginning.
   */
  read(entity: Entity, predicted: S | undefined): S;
  /** Takes a step of 1/60 s. */
  step(state: S, input: Input): S;
  /** Writes a state's pose. */
  pose(state: S, out: Pose): void;
}

/** Motions by kind name. */
export type AvatarMotions = Readonly<Record<string, AvatarMotion>>;

/** The last frame: its moment, and how its poses were made. */
export interface Display {
  /** The displayed moment, in world steps with a fraction. */
  readonly tick: number;
  /** How far the displayed moment is behind the newest possible data, in milliseconds: the cost of smoothness. */
  readonly delayMs: number;
  /** The age of an entity's displayed state, in milliseconds: the delay, plus the time of extrapolation. */
  ageMs(id: EntityId): number;
  /** Whether the rules put the entity elsewhere since the frame before: there is no way between the two displayed places. */
  hasJumped(id: EntityId): boolean;
  /** Number of frames that extrapolated entities, because the next snapshot arrived too late. */
  readonly starvedFrames: number;
  /** Whether the page shows the local avatar's predicted pose. */
  readonly isPredicted: boolean;
  /** The item that the local avatar holds: predicted or, later, from the avatar's attribute `holding`. */
  readonly holding: EntityId | undefined;
  /**
   * The angle by which the ground has turned the avatar so far, in radians. Add its changes to the yaw of the input and
   * of the camera, so that they turn with the ground.
   */
  readonly carriedYaw: number;
  /** The prediction's figures; `undefined` until there is an avatar to predict, and its code is loaded. */
  readonly prediction: Prediction | undefined;
}

/** The local avatar's steps, for measurements. */
export interface Prediction {
  /** This client's newest step; a step lasts 1/60 s. */
  readonly step: number;
  /** The displayed moment, in this client's steps with a fraction. */
  readonly moment: number;
  /** Distance between the displayed position and the predicted one, in metres: corrections not shown yet. */
  readonly offsetM: number;
  /** Distance between the server's newest position and the prediction for its step, in metres. */
  readonly errorM: number;
  /** How many server positions differed from the prediction. */
  readonly corrections: number;
  /** How many steps were skipped, because no frame was drawn for too long. */
  readonly skippedSteps: number;
  /** Writes the predicted position after a step. Returns false for a step that is no longer stored. */
  predicted(step: number, out: { [axis: number]: number }): boolean;
}

/**
 * The status, with the same meaning for both protocols. `connecting`: until the first welcome.
 * `open`: from a welcome on. `reconnecting`: from the loss of a connection until the next welcome,
 * or until the same session continues; just before the welcome if the room moved to another server. `closed`: permanently ended.
 */
export type WorldStatus = "connecting" | "open" | "reconnecting" | "closed";

/**
 * Whether the server can be reached now. `steady`; `unstable` if nothing has arrived for a second; `lost` before the
 * first welcome, after 3 s of silence, and when the world is closed. Servers send several times a second, even if
 * nothing moves. Time in which this program was too busy to read messages does not count as silence.
 */
export type Connection = "steady" | "unstable" | "lost";

/** The connection's properties, for displays. */
export interface WorldLink {
  /** The present carrier; `undefined` while there is none. */
  readonly carrier: "WebTransport" | "WebSocket" | undefined;
  /** The share of this program's packets that was lost, 0 to 1. */
  readonly loss: number;
  /**
   * Age of the server's data on arrival, by the estimated server clock; `undefined` before the first estimate.
   */
  readonly ageMs: number | undefined;
  /** Values that were never sent, because newer ones replaced them. */
  readonly superseded: number;
  /** Values and events that were sent again after a loss. */
  readonly resent: number;
  /** How often the session continued over another carrier. */
  readonly resumed: number;
}

/** Metrics for a network graph. Rates are means over the last second; bytes are payload bytes received. */
export interface WorldStats {
  /** Smoothed round-trip time between this program and the server; `undefined` before the first sample. */
  readonly pingMs: number | undefined;
  readonly packetsPerSecond: number;
  readonly bytesPerSecond: number;
  /** Snapshots received since `joinWorld`. */
  readonly snapshots: number;
  /** Smoothed spacing of snapshots on the server's clock; `undefined` before the second snapshot. */
  readonly snapshotIntervalMs: number | undefined;
  /** Smoothed deviation of arrival times from that spacing: jitter as RFC 3550 defines it. */
  readonly jitterMs: number;
  /** How many lost connections were replaced. */
  readonly reconnects: number;
  /** How many messages had an unknown type, as from a later server. */
  readonly unknownMessages: number;
  /** How many poses and descriptions concerned entities that were never spawned. */
  readonly unknownEntities: number;
  /**
   * How many actions and chat lines were not sent, because there was no connection or the world was closed.
   */
  readonly unsentActions: number;
  /** Only for sessions. */
  readonly link?: WorldLink | undefined;
}

/** The result of loading or running a version of the world's rules. `printed` marks a line that the rules printed. */
export type ReportOutcome = "runs" | "refused" | "rolled_back" | "failed" | "printed";

/**
 * Reason why entities left `World.entities`. `gone`: they were removed from the world.
 * `out_of_sight`: this client receives no more updates of them.
 */
export type DespawnReason = "gone" | "out_of_sight";

/** The events of `World.on`. */
export interface WorldEvents {
  status: { readonly status: WorldStatus };
  /**
   * A connection is open. After a reconnect the whole state is sent again: just before this event, every earlier entity
   * was despawned, every player left, and every screen slot was cleared.
   */
  welcome: {
    readonly playerId: PlayerId;
    /** Whether this client resumed its earlier player, with its avatar and possessions. */
    readonly isResumed: boolean;
    readonly room: string;
    /** The world that the room shows. */
    readonly world: string;
    readonly stepHz: number;
    readonly networkHz: number;
    readonly tick: number;
  };
  /**
   * {@link World.definition} changed. Entities of kinds that have kept their place, name and attributes already have
   * the new {@link Kind}, without a `change` event. For other values, further events report the changes.
   */
  define: { readonly definition: Definition };
  /**
   * An entity is new, or came into sight. An entity that was out of sight before is another object with the same id.
   */
  spawn: { readonly entity: Entity };
  /** An entity left `World.entities`. The event has its last known values. */
  despawn: { readonly entity: Entity; readonly reason: DespawnReason };
  /**
   * `names` lists the changed attributes, `parts` the other changes. One event may have both, because a server sends
   * all changes of one step as one value.
   */
  change: {
    readonly entity: Entity;
    readonly names: readonly string[];
    readonly parts: readonly EntityPart[];
  };
  /**
   * `moved` lists the entities that moved since the previous snapshot; all others did not.
   */
  snapshot: {
    readonly tick: number;
    readonly receivedAtMs: number;
    readonly moved: readonly Entity[];
    /**
     * The number of this client's newest input in force at that step, to which the poses in `moved` belong. It is 0 for
     * late data, and in the plain protocol, which does not report it.
     *
     * @internal
     */
    readonly ackedInputSequence: number;
  };
  /**
   * A player joined. After a welcome, the players who are already there follow, and this client's own player is the last.
   */
  joined: { readonly player: Player };
  /** A player has another name. */
  renamed: { readonly player: Player; readonly before: string };
  /** A player has another avatar, or none. */
  avatar: { readonly player: Player };
  /** A player left. The event has its last known values. */
  left: { readonly player: Player };
  /** The value at a place on the screen changed; `null` when it was removed. */
  screen: { readonly place: string; readonly value: unknown };
  /** An event from the world's rules. */
  event: { readonly name: string; readonly payload: unknown };
  /**
   * One event of the world. Its name follows `event:`, as in `world.on("event:goal", ({ payload })
   * => …)`.
   */
  [name: `event:${string}`]: { readonly payload: unknown };
  /** An entity's owner changed. `before` is the earlier owner. */
  owner: { readonly entity: Entity; readonly before: PlayerId | undefined };
  /**
   * The world refused this client's action. `request` is present if it was an owner's request: `action` is then `own`,
   * `release`, `move`, `set`, `spawn` or `despawn`, and `entity` its subject.
   */
  refused: {
    readonly action: string;
    readonly reason: string;
    readonly request?: { readonly entity: EntityId | undefined };
  };
  /** What happened to a version of the rules; sent to editors only. `text` has file, line and cause. */
  report: { readonly outcome: ReportOutcome; readonly version: number; readonly text: string };
  /** `name` and `text` come from other people, so show them as text, never as markup. */
  chat: { readonly from: PlayerId; readonly name: string; readonly text: string };
  /** How many chat lines the server dropped, because this client had not read the earlier ones. */
  missed: { readonly lines: number };
  rate: { readonly networkHz: number };
  notice: { readonly text: string };
  /** The server did not pass on this client's chat line, for example because the client sent too many at once. */
  unsaid: { readonly text: string; readonly reason: string };
  /**
   * A connection was lost or could not be opened. `error.code` has the reason, and
   * `error.closeCode` the server's number. `retryInMs` is
   * `undefined` if the world closes for good.
   */
  error: { readonly error: NowcastError; readonly retryInMs: number | undefined };
}

/** A query for a room. */
export interface RoomQuery {
  /** The world that the room shows. */
  readonly world: string;
  /** How many more players must fit into the room; 1 by default. */
  readonly freeSeats?: number | undefined;
}

export interface JoinOptions {
  /** The player's name, shortened to 24 characters. If there is none, the server chooses a name. */
  readonly name?: string | undefined;
  /**
   * A `program` joins without an avatar, and may own entities that allow programs. It needs a token with the role
   * `program`, or to be on the server's own machine if no tokens are required. `player` by default.
   */
  readonly role?: "player" | "program" | undefined;
  /** Snapshots a second, 5 to 60, rounded to a whole number; the server's own rate by default. */
  readonly networkHz?: number | undefined;
  /** Whether to reconnect after a loss, with a growing, jittered pause from 100 ms to 5 s. True by default. */
  readonly reconnect?: boolean | undefined;
  /**
   * Whether to try again while no server answers at first. False by default: the first failure ends the world, and `await
   * joinWorld(…)` throws it.
   */
  readonly retry?: boolean | undefined;
  /** Another WebSocket. By default the global one, and in a Node without it the SDK's own small client. */
  readonly WebSocket?: WebSocketConstructor | undefined;
  /**
   * The token for a server that requires one (`spec/CARRIERS.md`, section 7); by default the one in the address
   * (`?token=…`). The player then has the name in the token.
   */
  readonly token?: string | undefined;
  /**
   * The identity by which the server recognises the client on every visit. Without one the client is a guest. A name in
   * the token takes precedence.
   */
  readonly identity?: Identity | undefined;
  /** Keeps the player during a page reload: `tabSeat()`. Without one, such a page is a new player. */
  readonly seat?: Seat | undefined;
  /** The carriers that a session may use, the best first. By default, all available carriers. */
  readonly carriers?: readonly CarrierKind[] | undefined;
  /**
   * Step functions for local avatars that are not walkers, by kind name. Without one, such an avatar is interpolated.
   */
  readonly motions?: AvatarMotions | undefined;
  /** A bad link for this connection, in both directions: an `Impairment` of `nowcast/impair`. */
  readonly impair?: CarrierWrapper | undefined;
}

/**
 * Receives an entity that enters. If the listener returns a function, the function is called when the entity leaves.
 */
export type EntityListener = (entity: Entity) => unknown;

/** A client in a shared world. It connects and reconnects by itself. */
export interface World {
  readonly status: WorldStatus;
  /**
   * The address of the world's server, such as `http://localhost:7777` or `https://example.org/game`. The server offers
   * the files of the world's folder below `/assets/` of this address.
   */
  readonly serverUrl: string;
  /**
   * Whether the server can be reached. Read this value once a frame: it can change by the passage of time, so no event
   * reports it.
   */
  readonly connection: Connection;
  /**
   * Resolves when the first welcome, the definition and the players have arrived. Rejected if the world ends earlier.
   * `await joinWorld(…)` waits for this promise. With `retry`, the console shows once that no server answers yet, if nothing
   * listens to `error`.
   */
  readonly ready: Promise<void>;
  /**
   * Resolves to the local avatar when the avatar first appears in {@link World.entities}; rejected if the world ends
   * earlier. Spectators and programs have no avatar.
   */
  readonly joined: Promise<Entity>;
  /** The local player; `undefined` until the first welcome. */
  readonly playerId: PlayerId | undefined;
  /** The ID of the entity that your input moves; `undefined` for spectators. */
  readonly avatarId: EntityId | undefined;
  /** The entity that your input moves; `undefined` while it is not in {@link World.entities}. */
  readonly avatar: Entity | undefined;
  /** The world's definition; `undefined` until the first one arrives. */
  readonly definition: Definition | undefined;
  readonly entities: ReadonlyMap<EntityId, Entity>;
  /** The entities whose kind has this name. */
  entitiesOf(kind: string): Iterable<Entity>;
  readonly players: ReadonlyMap<PlayerId, Player>;
  /** The screen's values by place. A value for this player alone takes precedence over the value for all. */
  readonly screen: ReadonlyMap<string, unknown>;
  readonly stats: WorldStats;

  /**
   * Chooses the moment that {@link World.pose} shows. Call it once a frame, with the time of `performance.now()`. From the
   * first call on, the local avatar is predicted if it walks or has a motion, and everything that is attached to it or held
   * by it moves with the prediction. All other entities are interpolated. The code for this is loaded meanwhile.
   *
   * ```ts
   * function frame(nowMs: number) {
   *   world.input(controls);
   *   world.frame(nowMs);
   *   for (const [id, mesh] of meshes) world.pose(id, mesh);
   * }
   * ```
   */
  frame(nowMs: number): void;
  /** Writes an entity's pose at the last frame's moment. Returns false for an entity that is not in the world. */
  pose(id: EntityId, out: Pose): boolean;
  /** The last frame, for displays and measurements. */
  readonly display: Display;

  /**
   * Sets the current input. The input is a state: only the newest counts, so call this method as often as you like. The
   * input is sent when it changes, at most 30 times a second, and again after a reconnect. A jump between two sends is
   * not lost.
   */
  input(input: Input): void;
  /**
   * Sends an action that the world declares ({@link Definition.actions}). The server fills in defaults of missing
   * arguments, clamps numbers, and answers invalid arguments by `refused`. Throws a misuse for an action that the known
   * definition does not have, and for arguments that cannot be encoded or make a message of more than 4,096 bytes.
   *
   * The promise resolves when the server has carried out the action, after its events have arrived. It is rejected with the
   * code `refused` if the action was not carried out. Without a connection the action is dropped and counted, and the code is
   * `lost`. If the connection is lost or closed before the answer comes, the code is `unanswered`: the action may have been
   * carried out. An action that is declared **durable** happens exactly once and is never lost. Its
   * promise resolves when the server has stored the result. Until then it is sent again on every new connection, even to the
   * next process of the server. You need not await the promise: if you do not, a rejection is reported only by `refused`.
   *
   * ```ts
   * await world.act("buy", { what: "hat" }); // it is yours; if it is durable, even if the server is killed now
   * ```
   */
  act(action: string, args?: Readonly<Record<string, unknown>>): Promise<void>;
  /**
   * Requests an entity. Resolves once this client owns it. Rejected with the reason if the request is denied, or if the
   * connection is lost before.
   */
  own(entity: EntityId, options?: WaitOptions): Promise<void>;
  /** Releases an entity, or transfers it to a player that may own it. */
  release(entity: EntityId, to?: PlayerId): void;
  /**
   * Sets the target pose for an entity that this client owns. The pose is a state: only the newest one is sent, at most
   * 30 times a second, so call this method as often as you like. The server moves the entity there within the limits of
   * its kind. While this client does not own the entity, targets are dropped and counted.
   */
  move(entity: EntityId, pose: OwnedPose): void;
  /** Sets attributes of an entity that this client owns. The server sets all of these attributes, or none. */
  set(entity: EntityId, attributes: WorldRecord): void;
  /**
   * Spawns an entity that this client owns. Its id arrives before its description, so the entity
   * enters {@link World.entities} a little later.
   */
  spawn(kind: string, options: SpawnOptions): Promise<EntityId>;
  /** Removes an entity that this client owns, if the kind lets owners spawn entities. */
  despawn(entity: EntityId): void;
  /**
   * Servers shorten a line to 300 characters. While there is no connection, up to 16 lines wait for the next one.
   * Further lines are dropped and counted.
   */
  chat(text: string): void;
  /** Requests another name. Later connections use it, too. */
  rename(name: string): void;
  /** Requests another snapshot rate, 5 to 60, rounded to a whole number. Later connections use it, too. */
  setRate(hz: number): void;

  /**
   * Calls `listener` for every event with this type until you call the returned function, `signal` aborts, or the world
   * closes. A listener that is added inside a callback receives the next event first.
   */
  on<K extends keyof WorldEvents>(
    type: K,
    listener: (event: WorldEvents[K]) => void,
    options?: WaitOptions,
  ): () => void;
  /** Waits for the next event with this type. Rejected if the world is closed earlier, or if `signal` aborts. */
  once<K extends keyof WorldEvents>(type: K, options?: WaitOptions): Promise<WorldEvents[K]>;
  /**
   * Calls `listener` for each entity of a kind, or for one entity: now if it is in the world, and whenever it enters.
   * The function that `listener` returns is called when the entity leaves, or when the listener is removed.
   *
   * ```ts
   * world.onEntity("ball", (ball) => {
   *   const mesh = addBall(ball);
   *   return () => mesh.removeFromParent();
   * });
   * ```
   */
  onEntity(of: string | EntityId, listener: EntityListener, options?: WaitOptions): () => void;
  /**
   * Calls `listener` with one attribute's value, for each entity of a kind or for one entity: with the current value, when
   * the entity enters, and at each change.
   */
  onAttribute(
    of: string | EntityId,
    attribute: string,
    listener: (value: unknown, entity: Entity) => void,
    options?: WaitOptions,
  ): () => void;
  /** Called at the end of `using`: leaves the world. */
  [Symbol.dispose](): void;
  /** Leaves the world permanently. After the status `closed`, no event follows. */
  close(): void;
}
