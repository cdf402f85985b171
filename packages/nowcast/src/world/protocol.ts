/** The messages between a world and its session, and the calls from the session to the world. */
import type { NowcastError } from "../errors/nowcast-error.js";
import type { Emitter } from "../events/emitter.js";
import type { Entity, EntityId, PlayerId, Quaternion, Vec3, WorldEvents, WorldRecord } from "./world.js";
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

/** The calls of a session to its world. */
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
  /** An action was carried out and, if it is durable, stored. */
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
  /** The number of the newest input in force at the newest step; 0 for none. */
  readonly ackedInputSequence: number;
}
