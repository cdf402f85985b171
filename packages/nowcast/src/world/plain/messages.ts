import type { MoveColumns, SpawnedEntity } from "../entity-table.js";
import type { Action } from "../protocol.js";
import type { EntityId, Input } from "../world.js";

/** The version of the plain protocol that this SDK speaks. */
export const PROTOCOL_VERSION = 1;

/** Movement, whatever the encoding; see {@link MoveColumns} for who owns it. */
export interface MoveMessage extends MoveColumns {
  readonly type: "move";
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
  | Action
  | { readonly type: "chat"; readonly text: string }
  | { readonly type: "name"; readonly name: string }
  | { readonly type: "rate"; readonly hz: number }
  | { readonly type: "ping"; readonly time: number };
