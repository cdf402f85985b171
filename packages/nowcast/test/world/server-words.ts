/** Messages of a server of worlds on a session, made of plain values: `spec/WORLD.md`. */
import { createCodec, type Schema, types } from "../../src/codec/index.js";
import { wireSchemaOf } from "../../src/codec/schema.js";
import { encodeWireSchema } from "../../src/codec/wire-schema-bytes.js";
import { columnsOf } from "../../src/delta/frame.js";
import {
  type Entity,
  entityCodec,
  type Kind,
  type Player,
  playerCodec,
  type Screen,
  screenCodec,
} from "../../src/world/session/generated/messages.js";
import { writeWholeFrame } from "../delta/frame-writer.js";

const COLUMNS = columnsOf([
  { kind: "number" },
  { kind: "number" },
  { kind: "number" },
  { kind: "orientation", bits: 12 },
]);
/** The number of the finest grain: 1,024 steps a metre, and components of twelve bits. */
export const FINEST = 10 * 16 + 12;
/** The rotation of an upright entity, to the precision of twelve bits. */
const UPRIGHT = [3, 2048, 2048, 2048];

export type Fields = Readonly<Record<string, Schema<unknown>>>;

/** The shape of named values, as definitions carry it. */
export function fields(named: Fields): Uint8Array {
  return encodeWireSchema(wireSchemaOf(types.struct("Fields", named)));
}

export function values(named: Fields, value: object): Uint8Array {
  return createCodec(types.struct("Fields", named)).encode(value as never);
}

export function kind(name: string, attributes: Fields, rest: Partial<Kind> = {}): Kind {
  return { name, body: null, walker: null, look: null, attributes: fields(attributes), owner: null, ...rest };
}

export function entity(rest: Partial<Entity>): Uint8Array {
  const nothing = { parent: null, place: null, owner: null };
  const plain = { kind: 0, scale: [1, 1, 1], ...nothing, attributes: new Uint8Array(0) };
  return entityCodec.encode({ ...plain, ...rest } as Entity);
}

export function player(value: Omit<Player, "program"> & { readonly program?: boolean }): Uint8Array {
  return playerCodec.encode({ program: false, ...value });
}

export function screen(value: Screen): Uint8Array {
  return screenCodec.encode(value);
}

/** The positions of a group's entities at a step, in metres. */
export interface Group {
  readonly group: number;
  readonly tick: number;
  readonly rows: ReadonlyMap<number, readonly [number, number, number]>;
  /** The number of the jump that brought the entities there. */
  readonly jump?: number;
}

/** A replication payload with whole groups. */
export function payload(tick: number, sequence: number, groups: readonly Group[]): Uint8Array {
  const bytes = [...little(tick, 4), ...little(sequence, 2)];
  for (const { group, tick: at, rows, jump = 0 } of groups) {
    const ids = [...rows.keys()].sort((a, b) => a - b);
    const numbers = ids.flatMap((id) => [...rows.get(id)!.map((metres) => metres * 1024), ...UPRIGHT]);
    const frame = { tick: at, ids: Uint32Array.from(ids), values: Int32Array.from(numbers) };
    const delta = writeWholeFrame(COLUMNS, frame);
    const head = [group * 16, tick - at, FINEST + 512 * jump, delta.length];
    bytes.push(...head.flatMap(varint), ...delta);
  }
  return Uint8Array.from(bytes);
}

function little(value: number, bytes: number): number[] {
  return Array.from({ length: bytes }, (_, at) => Math.floor(value / 256 ** at) % 256);
}

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))];
}
