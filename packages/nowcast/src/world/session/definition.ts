/** The definition of a world on a session: `spec/WORLD.md`, section 3. */
import { BodyReader } from "../../codec/body.js";
import type { WireValue } from "../../codec/value.js";
import type { Definition as SchemaDefinition, WireSchema, WireType } from "../../codec/wire-schema.js";
import { decodeWireSchema } from "../../codec/wire-schema-bytes.js";
import { NowcastError, WireError } from "../../errors/nowcast-error.js";
import { isFields } from "../describe/shape.js";
import type { Asset, Definition, Field, Kind, WorldRecord } from "../world.js";
import type * as messages from "./generated/messages.js";

/** `spec/WORLD.md`, section 6. */
const KINDS_MAX = 1_024;
const ACTIONS_MAX = 256;
const EVENTS_MAX = 256;
const ASSETS_MAX = 256;
const ASSET_BYTES_MAX = 16 * 1024 * 1024;
const ASSET_NAME_BYTES_MAX = 96;
/** The hash becomes part of an address, so its form is checked strictly. */
const HASH = /^[0-9a-f]{64}$/;
const MEDIA_TYPE = /^[a-z]+\/[a-z0-9.+-]{1,64}$/;
/** Maximum memory for decoding the attributes of one entity. */
const ATTRIBUTES_MEMORY_MAX = 1024 * 1024;
/** Maximum length of a type's description, because a short shape can describe a very long type. */
const TYPE_CHARACTERS_MAX = 256;

/** A definition with the decoders of its entities. */
export class WorldReader {
  readonly definition: Definition;
  /** The decoders, by the numbers of kinds. */
  readonly #attributes: readonly BodyReader[];

  /** Reads a definition. Throws a {@link NowcastError} that names the place of an invalid field. */
  constructor({ version, kinds, actions, events, assets }: messages.Definition) {
    checkCount("kinds", kinds.length, KINDS_MAX);
    checkCount("actions", actions.length, ACTIONS_MAX);
    checkCount("events", events.length, EVENTS_MAX);
    checkCount("assets", assets.length, ASSETS_MAX);
    for (const [at, asset] of assets.entries()) {
      const fault = faultOfAsset(asset);
      if (fault !== undefined) throw malformed(`definition.assets[${at}]: ${fault}`);
    }
    if (new Set(kinds.map(({ name }) => name)).size < kinds.length) {
      throw malformed("definition.kinds: two have one name");
    }
    const schemas = kinds.map(({ name, attributes }) => readSchema(attributes, `kind "${name}"`));
    this.#attributes = schemas.map(
      (schema) => new BodyReader(schema, undefined, { memoryMax: ATTRIBUTES_MEMORY_MAX }),
    );
    this.definition = {
      version: Number(version),
      kinds: kinds.map(({ name, body, walker, look, owner }, at) => ({
        name,
        body: readRecord(body, `kind "${name}".body`),
        walker: readRecord(walker, `kind "${name}".walker`),
        look: recordOf(look),
        attributes: fieldsOf(schemas[at]!),
        owner: readRecord(owner, `kind "${name}".owner`),
      })),
      actions: actions.map(({ name, arguments: args, hint, durable }) => {
        return {
          name,
          arguments: fieldsOf(readSchema(args, `action "${name}"`)),
          durable,
          hint: recordOf(hint),
        };
      }),
      events: events.map(({ name, payload }) => {
        return { name, payload: fieldsOf(readSchema(payload, `event "${name}"`)) };
      }),
      assets,
    };
  }

  /** Returns the kind with this number, and decodes the attributes from a body. */
  read(kind: number, body: Uint8Array): { readonly kind: Kind; readonly attributes: WorldRecord } {
    const known = this.definition.kinds[kind];
    if (known === undefined) {
      throw malformed(`entity.kind: ${kind}, where there are ${this.definition.kinds.length}`);
    }
    return { kind: known, attributes: this.#attributes[kind]!.read(body) as WorldRecord };
  }
}

/** A type in schema notation; structs and enums appear by name. */
export function typeText(type: WireType, schema: WireSchema): string {
  const text = new TypeText(schema);
  text.put(type);
  return text.written;
}

class TypeText {
  written = "";
  readonly #schema: WireSchema;

  constructor(schema: WireSchema) {
    this.#schema = schema;
  }

  put(type: WireType): void {
    switch (type.tag) {
      case "option":
        return this.#parts(type.item, "?");
      case "list":
        return this.#parts("[", type.item, "]");
      case "array":
        return this.#parts("[", type.item, `; ${type.count}]`);
      case "map":
        return this.#parts("{", type.key, ": ", type.value, "}");
      case "range":
        return this.#parts(`range(${type.low}, ${type.high}, ${type.step})`);
      case "quat":
      case "angle":
        return this.#parts(`${type.tag}(${type.bits})`);
      case "ref":
        return this.#definition(this.#schema.definitions[type.index]!);
      default:
        return this.#parts(type.tag);
    }
  }

  /** A variant whose fields are numbered is written like a tuple. */
  #definition(definition: SchemaDefinition): void {
    if (definition.name !== "" || definition.tag === "enum") return this.#parts(definition.name);
    const parts = definition.fields.flatMap(({ type }, at) => (at === 0 ? [type] : [", ", type]));
    this.#parts("(", ...parts, ")");
  }

  #parts(...parts: readonly (string | WireType)[]): void {
    for (const part of parts) {
      if (this.written.length === TYPE_CHARACTERS_MAX) return;
      if (typeof part !== "string") this.put(part);
      else if (this.written.length + part.length < TYPE_CHARACTERS_MAX) this.written += part;
      else this.written = `${(this.written + part).slice(0, TYPE_CHARACTERS_MAX - 1)}…`;
    }
  }
}

function readSchema(bytes: Uint8Array, of: string): WireSchema {
  let schema: WireSchema;
  try {
    schema = decodeWireSchema(bytes);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw new WireError(error.detail, error.offset, [of, error.path].filter((part) => part !== "").join("."));
  }
  const { root, definitions } = schema;
  if (root.tag === "ref" && definitions[root.index]!.tag === "struct") return schema;
  throw malformed(`${of}: a shape that is not a struct`);
}

function fieldsOf(schema: WireSchema): Field[] {
  const { root, definitions } = schema;
  const struct = root.tag === "ref" ? definitions[root.index]! : undefined;
  if (struct?.tag !== "struct") return [];
  return struct.fields.map(({ name, type }) => ({ name, type: typeText(type, schema) }));
}

/** An author's value is ignored if it is not a map of names. */
function recordOf(value: WireValue): WorldRecord | undefined {
  return isFields(value) ? value : undefined;
}

function readRecord(value: WireValue, path: string): WorldRecord | undefined {
  if (value === null) return undefined;
  if (typeof value !== "object" || Object.getPrototypeOf(value) !== Object.prototype) {
    throw malformed(`${path}: neither nil nor a map of names`);
  }
  return value as WorldRecord;
}

/** Returns the fault of an asset, or `undefined`. A page must not fetch the files of an invalid list. */
function faultOfAsset({ name, hash, bytes, type }: Asset): string | undefined {
  if (name.length === 0 || name.length > ASSET_NAME_BYTES_MAX)
    return `name should have 1 to ${ASSET_NAME_BYTES_MAX} bytes`;
  if (!HASH.test(hash)) return "hash should be 64 hexadecimal digits in lower case";
  if (bytes > ASSET_BYTES_MAX) return `bytes should be at most ${ASSET_BYTES_MAX}`;
  if (!MEDIA_TYPE.test(type)) return "type should be a media type";
  return undefined;
}

function checkCount(what: string, count: number, max: number): void {
  if (count <= max) return;
  throw new NowcastError("peer-misbehaved", `a definition of ${count} ${what}, more than ${max}`, {
    code: "limit_exceeded",
  });
}

function malformed(cause: string): NowcastError {
  return new NowcastError("peer-misbehaved", `malformed: ${cause}`);
}
