/** The interfaces between a world and its protocol, one for each direction. */
import type { NowcastError } from "../errors/nowcast-error.js";
import type { Emitter } from "../events/emitter.js";
import type { StepInputs } from "./steps.js";
import type {
  Entity,
  EntityId,
  Input,
  PlayerId,
  Quaternion,
  Vec3,
  WorldEvents,
  WorldLink,
  WorldRecord,
} from "./world.js";
import type { WorldState } from "./world-state.js";

/** An owner's complete target for its entity. */
export interface TargetPose {
  readonly position: Vec3;
  readonly rotation: Quaternion;
  readonly velocity: { readonly linear: Vec3; readonly angular: Vec3 } | undefined;
}

/** An owner's request, as an event. */
export type OwnerRequest =
  | { readonly type: "own"; readonly entity: EntityId; readonly number: number }
  | { readonly type: "release"; readonly entity: EntityId; readonly to: PlayerId | undefined }
  | { readonly type: "set"; readonly entity: EntityId; readonly attributes: WorldRecord }
  | {
      readonly type: "spawn";
      readonly number: number;
      readonly kind: string;
      readonly position: Vec3;
      readonly rotation: Quaternion;
      readonly attributes: WorldRecord;
    }
  | { readonly type: "despawn"; readonly entity: EntityId };

/**
 * The calls of a world to its protocol. Arguments are validated and clamped. A call returns `false` if it cannot send
 * because there was no welcome yet or the send queue is full.
 */
export interface ProtocolAdapter {
  readonly pingMs: number | undefined;
  readonly link: WorldLink | undefined;
  /** Number of bytes that wait in the socket. */
  readonly backlogBytes: number;
  /** The number of the last sent input; 0 for none, and in protocols that do not count inputs. */
  readonly lastInputSequence: number;
  /** Sends controls that differ from the last ones, or the first controls since the welcome. */
  input(input: Input): boolean;
  /** Sends input by steps; missing in protocols without it. */
  readonly stepInputs?: StepInputs;
  /**
   * Sends an action. An action with a number is carried out once and is answered. `step` is the
   * client's step at the action, if the client counts steps.
   */
  act(action: string, args: WorldRecord, number?: number, step?: number, shown?: number): boolean;
  /** Sends the delay of the display, in whole milliseconds; missing in protocols without it. */
  viewDelay?(delayMs: number): boolean;
  /** Throws a misuse for an action that cannot be encoded. */
  checkAction(action: string, args: WorldRecord, number: number): void;
  owner(request: OwnerRequest): boolean;
  /** Sends a target for an entity. A newer target replaces an older one. */
  move(entity: EntityId, target: TargetPose): boolean;
  chat(text: string): boolean;
  rename(name: string): boolean;
  setRate(networkHz: number): boolean;
  /** Leaves the world. No handler is called afterwards. */
  close(): void;
}

/** The calls of a protocol to its world. */
export interface ProtocolHandlers {
  readonly state: WorldState;
  readonly emitter: Emitter<WorldEvents>;
  /** The current values, for every new connection. */
  readonly name: string | undefined;
  readonly networkHz: number | undefined;
  /** The key that identifies the client on every connection. */
  readonly key: Uint8Array;
  readonly isProgram: boolean;
  received(nowMs: number, bytes: number): void;
  /** Called for a message of a type that only later versions define. */
  unknownMessage(): void;
  welcomed(welcome: WorldEvents["welcome"]): void;
  moved(movement: ReceivedMovement): void;
  /** A numbered action was carried out and stored. */
  done(number: number): void;
  refused(action: string, reason: string, number: number | undefined): void;
  granted(entity: EntityId, number: number): void;
  /** `entity` is 0 if the request was to spawn an entity. */
  denied(request: string, entity: number, number: number, reason: string): void;
  interrupted(isInterrupted: boolean): void;
  /** `retryInMs` is `undefined` if there will be no further attempt. */
  lost(error: NowcastError, retryInMs: number | undefined): void;
}

/** The poses at a step. */
export interface ReceivedMovement {
  readonly tick: number;
  readonly nowMs: number;
  readonly moved: readonly Entity[];
  /** Whether this step is newer than all earlier ones. */
  readonly isNewest: boolean;
  /** The number of the newest input in force at the newest step; 0 if the protocol does not report it. */
  readonly ackedInputSequence: number;
}

/** Begins to connect. */
export type OpenProtocol = (handlers: ProtocolHandlers) => ProtocolAdapter;
