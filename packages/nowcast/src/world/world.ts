/// <reference lib="esnext.disposable" preserve="true" />
import type { CarrierKind } from "../carrier/carrier.js";
import type { NowcastError } from "../errors/nowcast-error.js";
import type { WaitOptions } from "../events/cancellable-waits.js";
import type { WebSocketConstructor } from "../websocket/websocket.js";

declare const entityIdBrand: unique symbol;
declare const playerIdBrand: unique symbol;

/** Number of an entity in its world. Entities of a server that restarts have new ones. */
export type EntityId = number & { readonly [entityIdBrand]: true };

/**
 * Number of a player in its world. This world stays the same player when its connection or its server is lost for less than half a
 * minute; somebody who comes again later is another one.
 */
export type PlayerId = number & { readonly [playerIdBrand]: true };

/** How movement travels: see `spec/PLAIN.md`, section 2. */
export type Encoding = "json" | "msgpack" | "custom" | "custom16";

/** Every encoding, in the order in which the specification lists them. */
export const ENCODINGS: readonly Encoding[] = ["json", "msgpack", "custom", "custom16"];

/** The protocol of a world's messages. */
export type Protocol = "session" | "plain";

/** x, y and z: metres with Y up, or Euler angles in radians in intrinsic XYZ order. */
export type Vec3 = readonly [number, number, number];

/** A rotation: x, y, z, w. */
export type Quaternion = readonly [number, number, number, number];

/** A map that the world's author wrote: names and whatever MessagePack can say. */
export type WorldRecord = Readonly<Record<string, unknown>>;

/** A named value of a type, such as `f32`, `range(0, 1, 0.01)` or `u32?` (the notation of `spec/WORLD.md`, section 3). */
export interface Field {
  readonly name: string;
  readonly type: string;
}

/** The common properties of some entities of a world. The author's values arrive unchanged: ignore those that you do not know. */
export interface Kind {
  readonly name: string;
  /** How physics sees it, in the words of `BodyFields` in `docs/WORLDS.md`; undefined for what has no body. */
  readonly body: WorldRecord | undefined;
  /** In the words of `WalkerFields`, for what controls move. */
  readonly walker: WorldRecord | undefined;
  /** How it is drawn: "Looks" in `docs/WORLDS.md`. `null` when nothing was said. */
  readonly look: unknown;
  readonly attributes: readonly Field[];
  /** Possible owners and their rights, in the words of `OwnerFields`; undefined if nobody can ask for one. */
  readonly owner: WorldRecord | undefined;
}

/** Something that a player can do by {@link World.act}. */
export interface Action {
  readonly name: string;
  readonly arguments: readonly Field[];
  /** Whether it happens once and lasts: see {@link World.act}. */
  readonly durable: boolean;
  /** How people do it: "Actions" in `docs/WORLDS.md`. `null` when nothing was said. */
  readonly hint: unknown;
}

/** Something that the world tells under this name; worlds may also tell events that they did not declare. */
export interface EventDeclaration {
  readonly name: string;
  readonly payload: readonly Field[];
}

/**
 * A file of a world: what `model` and `texture` of a {@link Kind.look} and the `file` of an event `sound` name. A world's server serves it at
 * `/assets/` and its hash, where it never changes, so it may be cached without end. Check what you fetch: its author may be anybody.
 */
export interface Asset {
  /** Its path in the world's folder, as `assets/door.glb`. */
  readonly name: string;
  /** SHA-256 of its content: 64 hexadecimal digits in lower case. A file that changes has another one. */
  readonly hash: string;
  /** How long it is. */
  readonly bytes: number;
  /** Its media type, as `model/gltf-binary`. */
  readonly type: string;
}

/** The kinds, actions, events and files of a world. Another definition holds as soon as the world's rules or files were replaced. */
export interface Definition {
  /** Of the world's rules. */
  readonly version: number;
  readonly kinds: readonly Kind[];
  readonly actions: readonly Action[];
  readonly events: readonly EventDeclaration[];
  /** Files that looks and sounds name, ordered by name; empty where a world has none. */
  readonly assets: readonly Asset[];
}

/**
 * One thing in the world, as newest known. The object lives as long as the entity does and is updated in place: copy
 * what you want to keep.
 */
export interface Entity {
  readonly id: EntityId;
  /** Another object, maybe of another name, once a `define` event said so. */
  readonly kind: Kind;
  /** Multiplies the shape of its kind along its own axes. */
  readonly scale: Vec3;
  /** The entity that this one is attached to. `position` and `euler` are in world coordinates all the same. */
  readonly parent: EntityId | undefined;
  /** The player that owns it and may move it; undefined for the server. */
  readonly owner: PlayerId | undefined;
  /** By name. A change makes another record, so one that you keep stays as it is. Texts may be what people typed: never markup. */
  readonly attributes: WorldRecord;
  /** Of the centre, in metres. */
  readonly position: Vec3;
  /** Intrinsic XYZ, in radians (the order that three.js calls `'XYZ'`). */
  readonly euler: Vec3;
  /** World step at which the pose was last heard to change. */
  readonly tick: number;
  /** World step up to which it was where it was before, if that was heard of (sessions tell it). */
  readonly stillTick?: number | undefined;
}

/** The parts of an entity that may change beside its attributes. `place` is a jump: movement arrives by `snapshot`. */
export type EntityPart = "kind" | "scale" | "parent" | "owner" | "place";

/** Somebody who takes part. The object lives as long as the player stays and is updated in place. */
export interface Player {
  readonly id: PlayerId;
  /** A text that a person typed: show it as text, never as markup. */
  readonly name: string;
  /** The entity that the player's controls move; it may be known before it is in {@link World.entities}. */
  readonly avatarId: EntityId | undefined;
}

/** Where an owner wants its entity to be. */
export interface OwnedPose {
  readonly position: Vec3;
  /** As it is by default. */
  readonly rotation?: Quaternion | undefined;
  /** How it moves, in metres a second, if you know: the server goes on so for a tenth of a second. */
  readonly velocity?: Vec3 | undefined;
  /** The axis of its turn, as long as its radians a second. */
  readonly spin?: Vec3 | undefined;
}

/** How an entity begins that its owner makes. */
export interface SpawnOptions extends WaitOptions {
  readonly position: Vec3;
  readonly rotation?: Quaternion | undefined;
  /** Attributes that differ from the defaults, of those that an owner may set. */
  readonly attributes?: WorldRecord | undefined;
}

/** The player's current input. It holds until the next one. */
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

/** Input from one step of a client on, until the next change. */
export interface InputChange extends Input {
  /** So many steps before the one at which the client is. */
  readonly ago: number;
}

/**
 * `connecting` until the first welcome, `open` from a welcome on, `reconnecting` from the loss of a connection until the
 * next welcome (or until the same session goes on, which needs none), `closed` for good. The same for both protocols.
 */
export type WorldStatus = "connecting" | "open" | "reconnecting" | "closed";

/**
 * Whether the server can be reached now: `steady`; `unstable` when nothing has arrived for a second; `lost` before the first welcome,
 * after 3 s of silence while the world is reconnecting, and when it is closed. Servers send several times a second, also while nothing
 * moves. Time in which this program was too busy to read messages is no silence.
 */
export type Connection = "steady" | "unstable" | "lost";

/** How the messages travel, for displays. */
export interface WorldLink {
  /** The present carrier; `undefined` while there is none. */
  readonly carrier: "WebTransport" | "WebSocket" | undefined;
  /** Of all that this program sent, the share that was lost, 0 to 1. */
  readonly loss: number;
  /** How old the server's news is when it arrives, by the estimate of its clock; `undefined` before it is known. */
  readonly ageMs: number | undefined;
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

/** The outcome of a version of the world's rules, or a line that the rules `printed`. */
export type ReportOutcome = "runs" | "refused" | "rolled_back" | "failed" | "printed";

/**
 * Why entities are not here any more: they are `gone` from the world for good, or `out_of_sight` of this client, where it is not
 * told what becomes of them.
 */
export type DespawnReason = "gone" | "out_of_sight";

/** The events of `World.on`. */
export interface WorldEvents {
  status: { readonly status: WorldStatus };
  /**
   * A connection is up. After a reconnect everything is told anew: just before, every earlier entity was despawned, every player left,
   * and every place on the screen was cleared.
   */
  welcome: {
    readonly playerId: PlayerId;
    /** Whether you are the player that you were before, with its avatar and all that it has. */
    readonly isResumed: boolean;
    readonly room: string;
    /** Which world the room shows. */
    readonly world: string;
    readonly stepHz: number;
    readonly networkHz: number;
    readonly tick: number;
  };
  /**
   * {@link World.definition} is another one. Entities of kinds that have kept their place, name and attributes have the new
   * {@link Kind} already, and no `change` says so; what is different about the others, the events that follow tell.
   */
  define: { readonly definition: Definition };
  /** They are new, or came into sight. One that was out of sight is another object with the same id. */
  spawn: { readonly entities: readonly Entity[] };
  /** The entities as last known; they are no longer in `World.entities`. */
  despawn: { readonly entities: readonly Entity[]; readonly reason: DespawnReason };
  /**
   * `names` lists the attributes that changed, `parts` everything else that changed. One event may have both, because a server
   * sends all changes of one step as one value.
   */
  change: {
    readonly entity: Entity;
    readonly names: readonly string[];
    readonly parts: readonly EntityPart[];
  };
  /**
   * `moved` lists what moved since the previous snapshot: an entity that is not in it did not. `controls` is the number of
   * the newest controls of this client that were in force at that step (see {@link World.lastInputSequence}), and what is told of `moved` holds
   * at that step; 0 for news that comes late, and for the plain protocol, which does not tell it.
   */
  snapshot: {
    readonly tick: number;
    readonly receivedAtMs: number;
    readonly moved: readonly Entity[];
    readonly ackedInputSequence: number;
  };
  /** Came, has another name, or has another avatar. */
  player: { readonly player: Player };
  /** The player as last known. */
  left: { readonly player: Player };
  /** The value at a place on the screen changed; `null` when it was removed. */
  screen: { readonly place: string; readonly value: unknown };
  /** Something that the world's rules tell. */
  event: { readonly name: string; readonly payload: unknown };
  /** One event of the world by its name, after `event`: `world.on("event:goal", ({ payload }) => …)`. */
  [name: `event:${string}`]: { readonly payload: unknown };
  /** It has another owner. `before` is who owned it until now. */
  owner: { readonly entity: Entity; readonly before: PlayerId | undefined };
  /**
   * The world did not take an action of this client. `request` is there where it was one as an owner: `action` is then `own`, `release`,
   * `move`, `set`, `spawn` or `despawn`, and `entity` the one that it was about.
   */
  refused: {
    readonly action: string;
    readonly reason: string;
    readonly request?: { readonly entity: EntityId | undefined };
  };
  /** The outcome of a version of the rules; sent only to those who may edit. `text` has file, line and cause. */
  report: { readonly outcome: ReportOutcome; readonly version: number; readonly text: string };
  /** `name` and `text` are what people typed: show them as text, never as markup. */
  chat: { readonly from: PlayerId; readonly name: string; readonly text: string };
  /** So many lines of chat were left out here, because this client had not read those before. */
  missed: { readonly lines: number };
  rate: { readonly networkHz: number };
  notice: { readonly text: string };
  /** A line of chat of this client was not passed on, for example because it sent too many at once. */
  unsaid: { readonly text: string; readonly reason: string };
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
  /** The player's name, shortened to 24 characters; the server picks one when there is none. */
  readonly name?: string | undefined;
  /**
   * A `program` takes part beside the people: it gets no avatar, and may own what is for programs. It needs a token with the role
   * `program`, or to be on the server's own machine where no tokens are needed. `player` by default.
   */
  readonly role?: "player" | "program" | undefined;
  /** How movement travels over the plain protocol. `custom16` by default: the smallest. */
  readonly encoding?: Encoding | undefined;
  /** Snapshots a second, 5 to 60, rounded to a whole number; the server's own rate by default. */
  readonly networkHz?: number | undefined;
  /** Whether to connect again after a loss, with a growing and jittered pause of 100 ms to 5 s. True by default. */
  readonly reconnect?: boolean | undefined;
  /** Another WebSocket. By default the global one, and in a Node without it the SDK's own small client. */
  readonly WebSocket?: WebSocketConstructor | undefined;
  /** Lets in where the server wants one (`spec/CARRIERS.md`, section 7); the player then has the name that it says. */
  readonly token?: string | undefined;
  /** The carriers that a session may use, the best first; all that there are by default. */
  readonly carriers?: readonly CarrierKind[] | undefined;
}

/** A seat in a shared world. It connects, and connects again, by itself. */
export interface World {
  readonly status: WorldStatus;
  /** Read it once a frame: it changes with time alone, so no event reports it. */
  readonly connection: Connection;
  /** Fulfilled with the first welcome and definition; refused when the world ends before. */
  readonly ready: Promise<void>;
  /** You; `undefined` until the first welcome. */
  readonly playerId: PlayerId | undefined;
  /** The entity that your input moves; spectators have none. */
  readonly avatarId: EntityId | undefined;
  /** `undefined` until the first one is here. */
  readonly definition: Definition | undefined;
  readonly entities: ReadonlyMap<EntityId, Entity>;
  /** Those of the kind of this name. */
  entitiesOf(kind: string): Iterable<Entity>;
  readonly players: ReadonlyMap<PlayerId, Player>;
  /** The values on the screen by place. A value for this player alone takes precedence over the value for all. */
  readonly screen: ReadonlyMap<string, unknown>;
  readonly stats: WorldStats;
  /**
   * The number of the controls that were sent last, for those who predict: it grows by one with each controls that differ
   * from the ones before (1 follows 65,535), begins anew with each welcome, and is 0 before the first. The plain protocol counts none.
   */
  readonly lastInputSequence: number;

  /**
   * Says what the controls say now. State: only the newest counts, so call it as often as you like. It is sent when it
   * changes, at most 30 times a second, and again after a reconnect. A jump between two sends is not lost.
   */
  input(input: Input): void;
  /**
   * The same for a client that predicts: it is at the step `number` of its own, of 1/60 s each and modulo
   * 2^16, and the newest `changes` of its input, the newest first and at most 64, happened `ago` steps
   * earlier. The server applies each for as many steps, and `snapshot` events then have the number of the
   * step that was taken as `ackedInputSequence`. Returns false if it cannot be sent; the plain protocol
   * cannot. `createPredictor` calls it.
   */
  inputAtStep(number: number, changes: readonly InputChange[]): boolean;
  /**
   * Says how this client's step is found, while it counts steps: {@link World.act} says at which one an action was given, and the server
   * takes the steps up to it before it. `createPredictor` calls it, and with undefined when it is closed.
   */
  countSteps(step: (() => number | undefined) | undefined): void;
  /**
   * Says how long after the newest that may have arrived others are shown, in milliseconds, and which moment that is, in steps of the world
   * with fraction, so that the world's rules can judge by what this client saw (`world.rewound` in `docs/WORLDS.md`). Call it once a
   * frame, or oftener: the delay is sent when it changes, at most once a second, and the moment with each action. Without a moment the
   * server reckons it from the delay. `createInterpolator` calls it.
   */
  viewDelay(delayMs: number, tick?: number): void;
  /**
   * Does something that the world declares ({@link Definition.actions}); the server gives missing arguments their defaults, clamps
   * numbers, and answers what does not fit by `refused`. Throws a misuse for an action that the known definition does not have, and for
   * arguments that cannot be written or make a message of more than 4,096 bytes.
   *
   * Of an ordinary action the promise is fulfilled when it was handed to the connection; without one it is dropped, counted, and the
   * promise refused. An action that is declared **durable** happens once and lasts: the promise is fulfilled when the server has kept
   * what came of it, and refused when it was not carried out (`refused`) or when nobody will tell (`lost`, at the end of the world).
   * Until then it is tried again on every new connection, also with the next process of the server. Nobody has to wait for the
   * promise: a refusal that is not looked at is told by `refused` alone.
   *
   * ```ts
   * await world.act("buy", { what: "hat" }); // it is yours, whatever happens to the server now
   * ```
   */
  act(action: string, args?: Readonly<Record<string, unknown>>): Promise<void>;
  /**
   * Asks for an entity. Fulfilled once it is this client's; refused with the reason when it does not become so, and when the
   * connection is lost before.
   */
  own(entity: EntityId, options?: WaitOptions): Promise<void>;
  /** Gives an entity back, or passes it on to a player that may have it. */
  release(entity: EntityId, to?: PlayerId): void;
  /**
   * Says where an entity that this client owns is to be. State: only the newest counts, so call it as often as you like; it is sent at most 30
   * times a second. The server brings the entity there as fast and as far as its kind allows. Dropped and counted while the entity
   * is not this client's.
   */
  move(entity: EntityId, pose: OwnedPose): void;
  /** Sets attributes of an entity that this client owns: all of them, or none. */
  set(entity: EntityId, attributes: WorldRecord): void;
  /** Makes an entity that this client owns. Its id comes before what it is: it enters {@link World.entities} a little later. */
  spawn(kind: string, options: SpawnOptions): Promise<EntityId>;
  /** Removes an entity that this client owns, if owners can make such. */
  despawn(entity: EntityId): void;
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

/** The types of what one world declares. `nowcast gen DIR` writes them from the world's folder. */
export interface WorldTypes {
  /** Kinds by name, with the types of their attributes. */
  readonly kinds: object;
  /** Actions by name, with the types of their arguments. */
  readonly actions: object;
  /** Events by name, with the types of their payloads. */
  readonly events: object;
}

/** An entity of a kind whose attributes have known types. */
export type EntityOf<T extends WorldTypes, K extends keyof T["kinds"]> = Omit<Entity, "attributes"> & {
  readonly attributes: Readonly<T["kinds"][K]>;
};

/**
 * A world whose types are known: the same object as {@link World}, and nothing is checked at run time. When
 * the world's rules are replaced, the types stay as they were until they are generated anew.
 */
export interface WorldOf<T extends WorldTypes>
  extends Omit<World, "act" | "on" | "once" | "entitiesOf" | "spawn"> {
  entitiesOf<K extends keyof T["kinds"] & string>(kind: K): Iterable<EntityOf<T, K>>;
  spawn<K extends keyof T["kinds"] & string>(
    kind: K,
    options: Omit<SpawnOptions, "attributes"> & { readonly attributes?: Readonly<Partial<T["kinds"][K]>> },
  ): Promise<EntityId>;
  act<A extends keyof T["actions"] & string>(
    action: A,
    args?: Readonly<Partial<T["actions"][A]>>,
  ): Promise<void>;
  on<N extends keyof T["events"] & string>(
    type: `event:${N}`,
    listener: (event: { readonly payload: Readonly<T["events"][N]> }) => void,
    options?: WaitOptions,
  ): () => void;
  on<K extends keyof WorldEvents>(
    type: K,
    listener: (event: WorldEvents[K]) => void,
    options?: WaitOptions,
  ): () => void;
  once<N extends keyof T["events"] & string>(
    type: `event:${N}`,
    options?: WaitOptions,
  ): Promise<{ readonly payload: Readonly<T["events"][N]> }>;
  once<K extends keyof WorldEvents>(type: K, options?: WaitOptions): Promise<WorldEvents[K]>;
}
