/** Messages of the plain protocol about the contents and events of a world: `spec/PLAIN.md`, section 3. */
import { ENTITIES_MAX } from "../entity-table.js";
import { eulerToQuaternion } from "../interpolation/rotation.js";
import type { EntityId, PlayerId, Quaternion, ReportOutcome, Vec3 } from "../world.js";
import { readDefinition } from "./define.js";
import {
  malformed,
  type RawObject,
  readArray,
  readField,
  readFlag,
  readId,
  readObject,
  readText,
  readTick,
  readVec3,
} from "./fields.js";
import type { ServerMessage, SpawnMessageEntity } from "./messages.js";

const OUTCOMES: readonly ReportOutcome[] = ["runs", "refused", "rolled_back", "failed", "printed"];
/**
 * Maximum length of names of actions, events and places on screens (`spec/WORLD.md`, section 6).
 */
const NAME_UNITS_MAX = 64;
const REPORT_UNITS_MAX = 65_536;

/** Returns the message of a type, or `undefined` for a type that only later versions define. */
export function readWorldMessage(type: string, message: RawObject): ServerMessage | undefined {
  const field = (key: string): unknown => readField(message, key);
  switch (type) {
    case "define":
      return { type, definition: readDefinition(message) };
    case "spawn":
      return {
        type,
        entities: readArray(field("entities"), "spawn.entities", ENTITIES_MAX).map(readSpawned),
      };
    case "attributes": {
      const set = readObject(field("set"), "attributes.set");
      return { type, id: readId<EntityId>(field("id"), "attributes.id"), set };
    }
    case "despawn": {
      const ids = readArray(field("ids"), "despawn.ids", ENTITIES_MAX);
      return { type, ids: ids.map((id, i) => readId<EntityId>(id, `despawn.ids[${i}]`)) };
    }
    case "player":
      return {
        type,
        id: readId<PlayerId>(field("id"), "player.id"),
        name: readText(field("name"), "player.name"),
        avatar: readOptionalId<EntityId>(field("avatar"), "player.avatar"),
      };
    case "left":
      return { type, id: readId<PlayerId>(field("id"), "left.id") };
    case "screen":
      return {
        type,
        place: readText(field("place"), "screen.place", NAME_UNITS_MAX),
        personal: readFlag(field("personal") ?? false, "screen.personal"),
        value: field("value") ?? null,
      };
    case "event":
      return {
        type,
        name: readText(field("name"), "event.name", NAME_UNITS_MAX),
        payload: field("payload") ?? null,
      };
    case "refused":
      return {
        type,
        action: readText(field("action"), "refused.action"),
        reason: readText(field("reason"), "refused.reason"),
        number: field("number") === undefined ? undefined : readId(field("number"), "refused.number"),
      };
    case "done":
      return { type, number: readId(field("number"), "done.number") };
    case "granted":
      return {
        type,
        entity: readId<EntityId>(field("entity"), "granted.entity"),
        number: readId<number>(field("number"), "granted.number"),
      };
    case "denied":
      return {
        type,
        request: readText(field("request"), "denied.request", NAME_UNITS_MAX),
        entity: readId<number>(field("entity"), "denied.entity"),
        number: readId<number>(field("number"), "denied.number"),
        reason: readText(field("reason"), "denied.reason"),
      };
    case "report":
      return {
        type,
        outcome: readOutcome(field("outcome")),
        version: readTick(field("version"), "report.version"),
        text: readText(field("text"), "report.text", REPORT_UNITS_MAX),
      };
    default:
      return undefined;
  }
}

function readSpawned(value: unknown, i: number): SpawnMessageEntity {
  const path = `spawn.entities[${i}]`;
  const entity = readObject(value, path);
  const field = (key: string): unknown => readField(entity, key);
  return {
    id: readId<EntityId>(field("id"), `${path}.id`),
    kind: readText(field("kind"), `${path}.kind`),
    scale: readVec3(field("scale") ?? [1, 1, 1], `${path}.scale`),
    parent: readOptionalId<EntityId>(field("parent"), `${path}.parent`),
    position: readVec3(field("p"), `${path}.p`),
    rotation: toQuaternion(readVec3(field("r"), `${path}.r`)),
    attributes: readObject(field("attributes"), `${path}.attributes`),
    owner: readOptionalId<PlayerId>(field("owner"), `${path}.owner`),
  };
}

function toQuaternion(angles: Vec3): Quaternion {
  const rotation: [number, number, number, number] = [0, 0, 0, 1];
  eulerToQuaternion(...angles, rotation);
  return rotation;
}

function readOptionalId<Id extends number>(value: unknown, path: string): Id | undefined {
  return value === undefined || value === null ? undefined : readId<Id>(value, path);
}

function readOutcome(value: unknown): ReportOutcome {
  const outcome = OUTCOMES.find((known) => known === value);
  if (outcome === undefined) throw malformed("report.outcome", OUTCOMES.join(", "));
  return outcome;
}
