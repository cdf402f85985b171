/** The definition of a world in the plain protocol: `spec/PLAIN.md`, section 3. */
import { ASSETS_MAX, faultOfAsset } from "../asset.js";
import { isFields } from "../describe/shape.js";
import type { Asset, Definition, Field, WorldRecord } from "../world.js";
import {
  malformed,
  type RawObject,
  readArray,
  readField,
  readFlag,
  readObject,
  readText,
  readTick,
} from "./fields.js";

/** `spec/WORLD.md`, section 6. */
const KINDS_MAX = 1_024;
const ACTIONS_MAX = 256;
const EVENTS_MAX = 256;
/** Maximum attributes, arguments, or fields of a payload in one definition. */
const FIELDS_MAX = 4_096;

export function readDefinition(message: RawObject): Definition {
  const kinds = readList(message, "kinds", KINDS_MAX, (kind, path) => ({
    name: readText(readField(kind, "name"), `${path}.name`, 64),
    body: readRecord(kind, "body", path),
    walker: readRecord(kind, "walker", path),
    look: recordOf(readField(kind, "look")),
    attributes: readFields(kind, "attributes", path),
    owner: readRecord(kind, "owner", path),
  }));
  if (new Set(kinds.map(({ name }) => name)).size < kinds.length) {
    throw malformed("define.kinds", "kinds of different names");
  }
  return {
    version: readTick(readField(message, "version"), "define.version"),
    kinds,
    actions: readList(message, "actions", ACTIONS_MAX, (action, path) => ({
      name: readText(readField(action, "name"), `${path}.name`, 64),
      arguments: readFields(action, "arguments", path),
      durable: readFlag(readField(action, "durable") ?? false, `${path}.durable`),
      hint: recordOf(readField(action, "hint")),
    })),
    events: readList(message, "events", EVENTS_MAX, (event, path) => ({
      name: readText(readField(event, "name"), `${path}.name`, 64),
      payload: readFields(event, "payload", path),
    })),
    assets:
      readField(message, "assets") === undefined ? [] : readList(message, "assets", ASSETS_MAX, readAsset),
  };
}

/** An author's value is ignored if it is not a map of names. */
function recordOf(value: unknown): WorldRecord | undefined {
  return isFields(value) ? value : undefined;
}

function readAsset(item: RawObject, path: string): Asset {
  const asset = {
    name: readText(readField(item, "name"), `${path}.name`),
    hash: readText(readField(item, "hash"), `${path}.hash`),
    bytes: readTick(readField(item, "bytes"), `${path}.bytes`),
    type: readText(readField(item, "type"), `${path}.type`),
  };
  const fault = faultOfAsset(asset);
  if (fault !== undefined) throw malformed(path, `an asset whose ${fault}`);
  return asset;
}

function readList<T>(
  message: RawObject,
  key: string,
  countMax: number,
  read: (item: RawObject, path: string) => T,
): T[] {
  const items = readArray(readField(message, key), `define.${key}`, countMax);
  return items.map((item, at) => {
    const path = `define.${key}[${at}]`;
    return read(readObject(item, path), path);
  });
}

function readRecord(object: RawObject, key: string, path: string): WorldRecord | undefined {
  const value = readField(object, key) ?? undefined;
  return value === undefined ? undefined : readObject(value, `${path}.${key}`);
}

/** Names with their types. */
function readFields(object: RawObject, key: string, path: string): Field[] {
  const entries = Object.entries(readObject(readField(object, key), `${path}.${key}`));
  if (entries.length > FIELDS_MAX) throw malformed(`${path}.${key}`, `at most ${FIELDS_MAX} names`);
  return entries.map(([name, type]) => ({ name, type: readText(type, `${path}.${key}.${name}`) }));
}
