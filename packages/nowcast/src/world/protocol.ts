/** Between a world and the protocol that it is joined by: one interface in each direction. */
import type { NowcastError } from "../errors/nowcast-error.js";
import type { Emitter } from "../events/emitter.js";
import type { EntityTable } from "./entity-table.js";
import type { Entity, EntityId, Input, WorldEvents, WorldLink } from "./world.js";

/** What an avatar does, once. */
export type Action =
  | { readonly type: "grab"; readonly block?: EntityId }
  | { readonly type: "throw"; readonly power: number; readonly pitch: number };

/**
 * What a world asks of its protocol. Arguments were checked and bounded. Whatever cannot be sent, because there is no
 * welcome yet or no room, is answered `false`.
 */
export interface ProtocolAdapter {
  readonly pingMs: number | undefined;
  readonly link: WorldLink | undefined;
  /** What waits in the socket and would age there. */
  readonly backlogBytes: number;
  input(input: Input): boolean;
  act(action: Action): boolean;
  chat(text: string): boolean;
  rename(name: string): boolean;
  setRate(networkHz: number): boolean;
  /** Leaves; nothing is told afterwards. */
  close(): void;
}

/** What a protocol tells its world. */
export interface ProtocolHandlers {
  readonly table: EntityTable;
  readonly emitter: Emitter<WorldEvents>;
  /** As they are now, for every connection that begins. */
  readonly name: string | undefined;
  readonly networkHz: number | undefined;
  received(nowMs: number, bytes: number): void;
  /** A message of a type that only later versions know. */
  unknownMessage(): void;
  welcomed(welcome: WorldEvents["welcome"]): void;
  /** What was where at a step; `isNewest` if no later step was heard of before. */
  moved(tick: number, nowMs: number, moved: readonly Entity[], isNewest: boolean): void;
  interrupted(isInterrupted: boolean): void;
  /** `retryInMs` is `undefined` when there will be no other attempt. */
  lost(error: NowcastError, retryInMs: number | undefined): void;
}

/** Begins to connect. */
export type OpenProtocol = (handlers: ProtocolHandlers) => ProtocolAdapter;
