import type { EntityId, EntityKind, Input, Vec3 } from "../world.js";

/** The version of the plain protocol that this SDK speaks. */
export const PROTOCOL_VERSION = 1;

/** An entity as it enters the world of a client. */
export interface SpawnedEntity {
  readonly id: EntityId;
  readonly kind: EntityKind;
  readonly size: Vec3 | undefined;
  readonly color: number;
  readonly name: string | undefined;
  readonly position: Vec3;
  readonly euler: Vec3;
}

/**
 * Movement, in columns, whatever the encoding. Both arrays belong to the decoder and are overwritten by the next
 * message; only the first `count` entities in them count.
 */
export interface MoveMessage {
  readonly type: "move";
  readonly tick: number;
  readonly count: number;
  readonly ids: Uint32Array;
  /** Six numbers per entity: position x, y, z and Euler angles x, y, z. */
  readonly poses: Float64Array;
}

/** What a server says: `spec/PLAIN.md`, section 3. */
export type ServerMessage =
  | {
      readonly type: "welcome";
      readonly id: EntityId;
      readonly room: string;
      readonly stepHz: number;
      readonly networkHz: number;
      readonly tick: number;
    }
  | { readonly type: "spawn"; readonly entities: readonly SpawnedEntity[] }
  | { readonly type: "despawn"; readonly ids: readonly EntityId[] }
  | MoveMessage
  | { readonly type: "chat"; readonly from: EntityId; readonly name: string; readonly text: string }
  | { readonly type: "hold"; readonly avatar: EntityId; readonly block: EntityId | undefined }
  | { readonly type: "rename"; readonly id: EntityId; readonly name: string }
  | { readonly type: "pong"; readonly time: number }
  | { readonly type: "rate"; readonly hz: number }
  | { readonly type: "notice"; readonly text: string }
  | { readonly type: "missed"; readonly lines: number };

/** What a client says: `spec/PLAIN.md`, section 4. */
export type ClientMessage =
  | ({ readonly type: "input" } & Input)
  | { readonly type: "grab"; readonly block?: EntityId }
  | { readonly type: "throw"; readonly power: number; readonly pitch: number }
  | { readonly type: "chat"; readonly text: string }
  | { readonly type: "name"; readonly name: string }
  | { readonly type: "rate"; readonly hz: number }
  | { readonly type: "ping"; readonly time: number };
