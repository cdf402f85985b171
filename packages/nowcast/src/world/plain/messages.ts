import type { MoveColumns } from "../entity-table.js";
import type { OwnerRequest } from "../protocol.js";
import type {
  Definition,
  EntityId,
  Input,
  PlayerId,
  Quaternion,
  ReportOutcome,
  Vec3,
  WorldRecord,
} from "../world.js";

/** The version of the plain protocol that this SDK speaks. */
export const PROTOCOL_VERSION = 2;

/** Movement, in every encoding. {@link MoveColumns} says who owns the arrays. */
export interface MoveMessage extends MoveColumns {
  readonly type: "move";
}

/** An entity with its description, its pose, and the name of its kind. */
export interface SpawnMessageEntity {
  readonly id: EntityId;
  readonly kind: string;
  readonly scale: Vec3;
  readonly parent: EntityId | undefined;
  readonly position: Vec3;
  readonly rotation: Quaternion;
  readonly attributes: WorldRecord;
  readonly owner: PlayerId | undefined;
}

/** Messages of a server: `spec/PLAIN.md`, section 3. */
export type ServerMessage =
  | {
      readonly type: "welcome";
      readonly player: PlayerId;
      readonly resumed: boolean;
      readonly room: string;
      readonly world: string;
      readonly stepHz: number;
      readonly networkHz: number;
      readonly tick: number;
    }
  | { readonly type: "define"; readonly definition: Definition }
  | { readonly type: "spawn"; readonly entities: readonly SpawnMessageEntity[] }
  | { readonly type: "attributes"; readonly id: EntityId; readonly set: WorldRecord }
  | { readonly type: "despawn"; readonly ids: readonly EntityId[] }
  | {
      readonly type: "player";
      readonly id: PlayerId;
      readonly name: string;
      readonly avatar: EntityId | undefined;
    }
  | { readonly type: "left"; readonly id: PlayerId }
  | {
      readonly type: "screen";
      readonly place: string;
      readonly personal: boolean;
      /** `null` clears the place. */
      readonly value: unknown;
    }
  | { readonly type: "event"; readonly name: string; readonly payload: unknown }
  | {
      readonly type: "refused";
      readonly action: string;
      readonly reason: string;
      readonly number: number | undefined;
    }
  | { readonly type: "done"; readonly number: number }
  | { readonly type: "granted"; readonly entity: EntityId; readonly number: number }
  | {
      readonly type: "denied";
      readonly request: string;
      /** 0 if the request was to spawn an entity. */
      readonly entity: number;
      readonly number: number;
      readonly reason: string;
    }
  | {
      readonly type: "report";
      readonly outcome: ReportOutcome;
      readonly version: number;
      readonly text: string;
    }
  | MoveMessage
  | { readonly type: "chat"; readonly from: PlayerId; readonly name: string; readonly text: string }
  | { readonly type: "pong"; readonly time: number }
  | { readonly type: "rate"; readonly hz: number }
  | { readonly type: "notice"; readonly text: string }
  | { readonly type: "unsaid"; readonly text: string; readonly reason: string }
  | { readonly type: "missed"; readonly lines: number };

/** Messages of a client: `spec/PLAIN.md`, section 4. */
export type ClientMessage =
  | ({ readonly type: "input" } & Input)
  | {
      readonly type: "act";
      readonly action: string;
      readonly arguments: WorldRecord;
      readonly number?: number;
    }
  | { readonly type: "chat"; readonly text: string }
  | { readonly type: "name"; readonly name: string }
  | { readonly type: "rate"; readonly hz: number }
  | { readonly type: "ping"; readonly time: number }
  | OwnerRequest
  | {
      readonly type: "move";
      readonly entity: EntityId;
      readonly position: Vec3;
      readonly rotation: Quaternion;
      readonly velocity?: Vec3;
      readonly spin?: Vec3;
    };
