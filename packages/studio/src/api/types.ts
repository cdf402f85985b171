/** The answers of the studio's interface (`docs/reference/studio.md`). */

/** A value of a world, as JSON. */
export type Value = null | boolean | number | string | readonly Value[] | { readonly [key: string]: Value };
export type Vector = readonly [number, number, number];

export interface Session {
  readonly role: "inspector" | "editor";
  readonly name: string | null;
  readonly server: string;
}

export interface RoomSummary {
  readonly name: string;
  readonly world: string;
  readonly players: number;
  readonly playersMax: number;
}

export interface WorldSummary {
  readonly name: string;
  readonly version: string | null;
  readonly fault: string | null;
  readonly rooms: readonly string[];
}

export interface Rooms {
  readonly rooms: readonly RoomSummary[];
  readonly worlds: readonly WorldSummary[];
  readonly roomsMax: number;
}

export interface Kind {
  readonly id: number;
  readonly name: string;
  readonly count: number;
  readonly body: string | null;
  readonly attributes: readonly { readonly name: string; readonly type: string; readonly default: Value }[];
}

export interface Room {
  readonly name: string;
  readonly world: string;
  readonly tick: number;
  readonly version: number;
  readonly entities: number;
  readonly players: number;
  readonly awake: number;
  readonly kinds: readonly Kind[];
  readonly stored: boolean;
}

export interface Row {
  readonly id: number;
  readonly kind: string;
  readonly position: Vector;
  readonly tags: readonly string[];
  readonly owner: number | null;
  readonly parent: number | null;
  readonly label: string | null;
}

export interface Rows {
  readonly tick: number;
  readonly total: number;
  readonly rows: readonly Row[];
  readonly next: number | null;
}

export interface Pose {
  readonly position: Vector;
  readonly rotation?: readonly [number, number, number, number];
}

/** The newest change of a value. */
export interface Writer {
  /** The first step that has the value. */
  readonly tick: number;
  readonly hook: string;
  readonly name: string | null;
  readonly player: string | null;
  readonly file: string | null;
  readonly line: number | null;
}

export interface Entity {
  readonly tick: number;
  readonly id: number;
  readonly kind: string;
  readonly pose: Pose;
  readonly scale: Value;
  readonly velocity: { readonly linear: Vector; readonly angular: Vector };
  readonly parent: number | null;
  readonly owner: number | null;
  readonly tags: readonly string[];
  readonly attributes: { readonly [name: string]: Value };
  readonly private: Value;
  readonly changedTick: number;
  readonly body: {
    readonly motion: string;
    readonly asleep: boolean;
    /** In kilograms; `null` for a body that cannot move. */
    readonly mass: number | null;
    readonly parts: number;
    readonly onGround: boolean | null;
  } | null;
  readonly contacts: readonly number[];
  readonly joints: readonly { readonly id: number; readonly kind: string; readonly other: number }[];
  readonly children: readonly number[];
  readonly player: number | null;
  /** A moment has no writers. */
  readonly writers?: {
    readonly attributes: { readonly [name: string]: Writer };
    readonly private: Writer | null;
  };
}

export interface StatePlayer {
  readonly id: number;
  readonly name: string;
  readonly program: boolean;
  readonly avatar: number | null;
  readonly tags: readonly string[];
  readonly roles: readonly string[];
  readonly private: Value;
  readonly saved: { readonly version: number; readonly value: Value } | null;
  readonly account: string | null;
  readonly behindMs: number | null;
}

export interface State {
  readonly tick: number;
  readonly state: { readonly [key: string]: Value };
  readonly players: readonly StatePlayer[];
  readonly timers: number;
  readonly keptBytes: number;
  /** A moment has no writers. */
  readonly writers?: { readonly [key: string]: Writer };
}

export type Command =
  | { readonly type: "set_attribute"; readonly entity: number; readonly name: string; readonly value: Value }
  | { readonly type: "set_private"; readonly entity: number; readonly value: Value }
  | { readonly type: "set_state"; readonly key: string; readonly value: Value }
  | { readonly type: "set_saved"; readonly player: number; readonly value: Value }
  | { readonly type: "spawn"; readonly kind: string; readonly pose: Pose }
  | { readonly type: "despawn"; readonly entity: number }
  | { readonly type: "move"; readonly entity: number; readonly pose: Pose };

export interface CommandResult {
  readonly ok: boolean;
  readonly id?: number;
  readonly message?: string;
}

export interface Client {
  readonly player: number;
  readonly name: string;
  readonly carrier: "webtransport" | "websocket" | "local" | "session" | "plain";
  readonly role: readonly string[];
  readonly networkHz: number;
  readonly behindMs: number | null;
  readonly resumed?: number | null;
  readonly rttMs: number | null;
  readonly jitterMs?: number | null;
  readonly lossPerMille: number | null;
  readonly queueingMs?: number | null;
  readonly rateBytes: number | null;
  readonly queuedBytes: number | null;
  readonly queued: number | null;
  readonly superseded: number | null;
  readonly resent?: number | null;
  readonly sentBytes?: number | null;
  readonly receivedBytes?: number | null;
  readonly bytes?: { readonly description: number; readonly event: number; readonly movement: number } | null;
  readonly agesMs?: {
    readonly near: number | null;
    readonly middle: number | null;
    readonly far: number | null;
  } | null;
  readonly visible?: number | null;
  readonly inputs?: { readonly taken: number; readonly late: number; readonly missing: number } | null;
}

/** One client with its queue, the ages of its values and the bytes of its entities. */
export interface ClientDetails {
  readonly tick: number;
  readonly client: Client;
  readonly agesMs: readonly { readonly ms: number | null; readonly count: number }[];
  readonly queue: readonly {
    readonly lane: number;
    readonly type: "state" | "event";
    readonly key: string | null;
    readonly bytes: number;
    readonly ageMs: number;
  }[];
  readonly queueTotal: number;
  readonly kinds: readonly { readonly kind: string; readonly entities: number; readonly bytes: number }[];
  readonly entities: readonly { readonly id: number; readonly kind: string; readonly bytes: number }[];
  readonly measuredS: number;
}

export interface LogLine {
  readonly n: number;
  readonly tick: number;
  readonly type: "print" | "error" | "rules" | "chat" | "event";
  readonly text?: string;
  readonly file?: string;
  readonly line?: number;
  readonly name?: string;
  readonly data?: Value;
}

export interface Log {
  readonly lines: readonly LogLine[];
  readonly next: number;
  readonly dropped: number;
}

export interface Step {
  readonly tick: number;
  readonly totalUs: number;
  readonly phases: { readonly [name: string]: number };
  /** The part of the phase `world` that the rules took; `null` if the rules are a program. */
  readonly rulesUs?: number | null;
}

/** One function of the rules, with its sums over the newest steps. */
export interface Hook {
  readonly hook: string;
  readonly name: string | null;
  readonly kind: string | null;
  readonly file: string | null;
  readonly line: number | null;
  readonly calls: number;
  readonly us: number;
  readonly usMax: number;
  readonly units: number;
  readonly bytes: number;
}

export interface Profile {
  readonly tick: number;
  readonly budgetUs: number;
  readonly steps: readonly Step[];
  readonly slowest: readonly Step[];
  readonly hooks: readonly Hook[];
  /** The steps over which the values of `hooks` are summed. */
  readonly hookSteps?: number;
  /** The units of work that the rules used in the newest step, and their limit; `null` if the rules are a program. */
  readonly work: number | null;
  readonly workMax: number | null;
  readonly memoryBytes?: number | null;
  readonly memoryBytesMax?: number | null;
}

export interface MetricsHistory {
  readonly intervalMs: number;
  readonly times: readonly number[];
  readonly series: readonly { readonly name: string; readonly values: readonly (number | null)[] }[];
}

export interface SourceEntry {
  readonly path: string;
  readonly bytes: number;
  readonly revision: string;
  readonly text: boolean;
}

export interface SourceFolder {
  readonly files: readonly SourceEntry[];
  readonly writable: boolean;
  readonly why: string | null;
  readonly version: string | null;
}

export interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly revision: string;
}

export interface Diagnostic {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly severity: "error" | "warning";
  readonly message: string;
}

export interface Check {
  readonly diagnostics: readonly Diagnostic[];
}

export interface WorldFault {
  readonly fault: string | null;
  readonly file?: string | null;
  readonly line?: number | null;
  readonly version: string | null;
}

export interface StoredStep {
  readonly tick: number;
  readonly timeMs: number;
}

export interface History {
  readonly stored: boolean;
  readonly from: StoredStep | null;
  readonly to: StoredStep | null;
}

export interface Moment {
  readonly id: string;
  readonly room: string;
  readonly world: string;
  readonly tick: number;
  readonly exact: boolean;
  readonly expiresInS: number;
  readonly through: number;
}

export interface Differences {
  readonly spawned: readonly Row[];
  readonly despawned: readonly Row[];
  readonly changed: readonly {
    readonly id: number;
    readonly kind: string;
    readonly members: readonly { readonly name: string; readonly a: Value; readonly b: Value }[];
  }[];
  readonly state: readonly { readonly key: string; readonly a: Value; readonly b: Value }[];
  readonly players: readonly { readonly id: number; readonly name: string; readonly in: "a" | "b" }[];
  readonly total: number;
}

export interface Replay {
  readonly from: number;
  readonly until: number;
  readonly reached: number;
  readonly exact: boolean;
  readonly errors: readonly {
    readonly tick: number;
    readonly file?: string | null;
    readonly line?: number | null;
    readonly message: string;
  }[];
  readonly printed: readonly string[];
  readonly differences: Differences;
}
