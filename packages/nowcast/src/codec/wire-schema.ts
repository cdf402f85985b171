/** Integer types, with the byte that names them in a shape. */
export const INTEGER_TAGS = ["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "uvar", "ivar"] as const;
export type IntegerTag = (typeof INTEGER_TAGS)[number];
export type ScalarTag = "unit" | "bool" | IntegerTag | "f32" | "f64" | "text" | "bytes" | "any";

/** The type of a value: `spec/WIRE.md`, section 3. */
export type WireType =
  | { readonly tag: ScalarTag }
  | { readonly tag: "option" | "list"; readonly item: WireType }
  | { readonly tag: "array"; readonly count: number; readonly item: WireType }
  | { readonly tag: "map"; readonly key: WireType; readonly value: WireType }
  | { readonly tag: "ref"; readonly index: number }
  | { readonly tag: "range"; readonly low: number; readonly high: number; readonly step: number }
  | { readonly tag: "quat" | "angle"; readonly bits: number };

export interface Field {
  readonly name: string;
  readonly type: WireType;
  /** The default for readers whose writer lacks the field: one MessagePack value, in its original bytes. */
  readonly default: Uint8Array | undefined;
  /** Former names, by which a reader finds the field in values of earlier versions. The bytes of a shape do not have them. */
  readonly was?: readonly string[];
}

export interface Variant {
  readonly name: string;
  /** The fields of the payload; empty for a variant without a payload. */
  readonly fields: readonly Field[];
}

export type Definition =
  | { readonly tag: "struct"; readonly name: string; readonly fields: readonly Field[] }
  | { readonly tag: "enum"; readonly name: string; readonly variants: readonly Variant[] };

/** A type with all definitions to which it refers. */
export interface WireSchema {
  readonly root: WireType;
  readonly definitions: readonly Definition[];
}

/** Limits of `spec/WIRE.md`, section 10. */
export const SCHEMA_LIMITS = {
  bytes: 64 * 1024,
  definitions: 1024,
  fields: 4096,
  leaves: 4096,
  variants: 65_536,
  nameBytes: 255,
  depth: 512,
} as const;

/** The byte that stands for each type without parameters. */
export const SCALAR_CODES: ReadonlyMap<number, ScalarTag> = new Map<number, ScalarTag>([
  [0x00, "unit"],
  [0x01, "bool"],
  [0x02, "u8"],
  [0x03, "u16"],
  [0x04, "u32"],
  [0x05, "u64"],
  [0x06, "i8"],
  [0x07, "i16"],
  [0x08, "i32"],
  [0x09, "i64"],
  [0x0a, "f32"],
  [0x0b, "f64"],
  [0x0c, "uvar"],
  [0x0d, "ivar"],
  [0x0e, "text"],
  [0x0f, "bytes"],
  [0x10, "any"],
]);

/** Whether a type has a separate block. At such a type the nesting becomes deeper, and flattening stops. */
export function isStruct(type: WireType, schema: WireSchema): readonly Field[] | undefined {
  if (type.tag !== "ref") return undefined;
  const definition = schema.definitions[type.index]!;
  return definition.tag === "struct" ? definition.fields : undefined;
}

/** Tuples are structs with an empty name; in JavaScript they are arrays. */
export function isTuple(definition: Definition): boolean {
  return definition.tag === "struct" && definition.name === "";
}

/** The leaves of a type in a checked shape, in order: section 4. */
export function leavesOf(type: WireType, schema: WireSchema): WireType[] {
  const fields = isStruct(type, schema);
  if (fields !== undefined) return fields.flatMap((field) => leavesOf(field.type, schema));
  return type.tag === "unit" ? [] : [type];
}

/** Whether a body of this root is flat, so that it has no length of the text area: section 4.1. */
export function isFlat(root: WireType, schema: WireSchema): boolean {
  /** For each definition, whether it is flat and has no text. */
  const known: (boolean | undefined)[] = [];
  const isFlatInArray = (type: WireType): boolean => {
    if (type.tag === "ref") {
      known[type.index] ??= leavesOf(type, schema).every((leaf) => isFlatLeaf(leaf, false));
      return known[type.index]!;
    }
    return leavesOf(type, schema).every((leaf) => isFlatLeaf(leaf, false));
  };
  const isFlatLeaf = (leaf: WireType, textAllowed: boolean): boolean => {
    switch (leaf.tag) {
      case "text":
        return textAllowed;
      case "option":
      case "list":
      case "map":
      case "bytes":
      case "any":
        return false;
      case "array":
        return isFlatInArray(leaf.item);
      case "ref": {
        const definition = schema.definitions[leaf.index]!;
        return (
          definition.tag === "enum" && definition.variants.every((variant) => variant.fields.length === 0)
        );
      }
      default:
        return true;
    }
  };
  return leavesOf(root, schema).every((leaf) => isFlatLeaf(leaf, true));
}

/** A description of a type for errors: `list of u8`, `Vec3`. */
export function describeType(type: WireType, schema: WireSchema): string {
  switch (type.tag) {
    case "option":
    case "list":
      return `${type.tag} of ${describeType(type.item, schema)}`;
    case "array":
      return `array of ${type.count} ${describeType(type.item, schema)}`;
    case "map":
      return `map from ${describeType(type.key, schema)} to ${describeType(type.value, schema)}`;
    case "ref": {
      const definition = schema.definitions[type.index]!;
      if (definition.name !== "") return definition.name;
      return definition.tag === "struct" ? "a tuple" : "an enum";
    }
    default:
      return type.tag;
  }
}

/** FNV-1a of the shape's bytes, 64 bits, as 16 hexadecimal digits. */
export function wireSchemaHash(bytes: Uint8Array): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of bytes) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(16).padStart(16, "0");
}
