/**
 * Validates a model before it is loaded, because a file may contain any data. The format is glTF 2.0, section
 * 4 (GLB).
 */
import { isFields } from "nowcast/internal";
import { readImageSize } from "./image-size.js";

/** Limits of one model. */
export const MODEL_LIMITS = {
  fileBytes: 32 * 1024 * 1024,
  jsonBytes: 4 * 1024 * 1024,
  nodes: 2_000,
  /** Maximum triangles of all nodes together. */
  triangles: 500_000,
  textures: 32,
  /** Maximum pixels along each side of a texture. */
  texturePixels: 4_096,
  /** Maximum pixels of all textures together. */
  pixels: 4 * 4_096 * 4_096,
  animations: 64,
  /** Maximum bytes of all numbers in the file, unpacked. */
  accessorBytes: 128 * 1024 * 1024,
} as const;

const MAGIC = 0x46546c67;
const JSON_CHUNK = 0x4e4f534a;
const BINARY_CHUNK = 0x004e4942;
/** Extensions that need a missing decoder or another file, or that multiply one mesh. */
const REFUSED = new Set([
  "KHR_draco_mesh_compression",
  "EXT_meshopt_compression",
  "KHR_texture_basisu",
  "EXT_texture_webp",
  "EXT_texture_avif",
  "EXT_mesh_gpu_instancing",
]);
const KNOWN = /^KHR_(materials_\w+|texture_transform|mesh_quantization|lights_punctual)$/;
const COMPONENTS: Readonly<Record<string, number>> = {
  SCALAR: 1,
  VEC2: 2,
  VEC3: 3,
  VEC4: 4,
  MAT2: 4,
  MAT3: 9,
  MAT4: 16,
};

type Fields = Readonly<Record<string, unknown>>;

/** Throws an error with the reason if a model is invalid. */
export function inspectGlb(file: ArrayBuffer): void {
  const { json, binary } = readChunks(file);
  checkExtensions(json);
  checkReferences(json);
  const accessors = checkAccessors(json);
  const triangles = trianglesOfMeshes(json, accessors);
  checkNodes(json, triangles);
  checkImages(json, binary);
  atMost(listOf(json, "animations").length, MODEL_LIMITS.animations, "animations");
}

function readChunks(file: ArrayBuffer): { readonly json: Fields; readonly binary: Uint8Array } {
  atMost(file.byteLength, MODEL_LIMITS.fileBytes, "bytes");
  const view = new DataView(file);
  if (file.byteLength < 20 || view.getUint32(0, true) !== MAGIC) throw new Error("it is not a .glb file");
  if (view.getUint32(4, true) !== 2) throw new Error("it is not of version 2 of glTF");
  const jsonBytes = view.getUint32(12, true);
  if (view.getUint32(16, true) !== JSON_CHUNK || jsonBytes > file.byteLength - 20)
    throw new Error("it does not begin with a description");
  atMost(jsonBytes, MODEL_LIMITS.jsonBytes, "bytes of description");
  const text = new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array(file, 20, jsonBytes));
  const json: unknown = JSON.parse(text);
  if (!isFields(json)) throw new Error("its description is none");
  const at = 20 + jsonBytes;
  if (at + 8 > file.byteLength) return { json, binary: new Uint8Array() };
  const binaryBytes = view.getUint32(at, true);
  if (view.getUint32(at + 4, true) !== BINARY_CHUNK || binaryBytes > file.byteLength - at - 8)
    throw new Error("it ends too early");
  return { json, binary: new Uint8Array(file, at + 8, binaryBytes) };
}

function checkExtensions(json: Fields): void {
  const required = listOf(json, "extensionsRequired");
  const refused =
    [...required, ...listOf(json, "extensionsUsed")].find((name) => REFUSED.has(String(name))) ??
    required.find((name) => !KNOWN.test(String(name)));
  if (refused !== undefined)
    throw new Error(`it uses ${String(refused).slice(0, 60)}, which is not supported`);
}

/** References to other files are not allowed. */
function checkReferences(json: Fields): void {
  for (const what of ["buffers", "images"] as const) {
    for (const entry of fieldsOf(json, what)) {
      if (entry["uri"] !== undefined) throw new Error(`its ${what} are in other files`);
    }
  }
}

function checkAccessors(json: Fields): readonly number[] {
  let bytes = 0;
  return fieldsOf(json, "accessors").map((accessor) => {
    const count = wholeNumber(accessor["count"]);
    const components = COMPONENTS[String(accessor["type"])] ?? 16;
    // Matrices of 8-bit and 16-bit numbers have padding. Four bytes per number is an upper bound that includes the
    // padding.
    bytes += count * components * 4;
    atMost(bytes, MODEL_LIMITS.accessorBytes, "bytes of numbers");
    return count;
  });
}

function trianglesOfMeshes(json: Fields, accessors: readonly number[]): readonly number[] {
  return fieldsOf(json, "meshes").map((mesh) =>
    fieldsOf(mesh, "primitives").reduce((sum, primitive) => {
      const attributes = primitive["attributes"];
      const corners = primitive["indices"] ?? (isFields(attributes) ? attributes["POSITION"] : undefined);
      const count = typeof corners === "number" ? (accessors[corners] ?? 0) : 0;
      // Strips and fans have almost as many triangles as vertices.
      return sum + ((primitive["mode"] ?? 4) === 4 ? count / 3 : count);
    }, 0),
  );
}

/** Checks that the nodes are a tree, and counts their triangles. A loader would never finish a cycle of nodes. */
function checkNodes(json: Fields, trianglesOf: readonly number[]): void {
  const nodes = fieldsOf(json, "nodes");
  atMost(nodes.length, MODEL_LIMITS.nodes, "nodes");
  const hasParent = new Set<unknown>();
  let triangles = 0;
  for (const node of nodes) {
    for (const child of listOf(node, "children")) {
      if (hasParent.has(child)) throw new Error("one of its nodes has two parents");
      hasParent.add(child);
    }
    const mesh = node["mesh"];
    triangles += typeof mesh === "number" ? (trianglesOf[mesh] ?? 0) : 0;
  }
  atMost(triangles, MODEL_LIMITS.triangles, "triangles");
  const scenes = fieldsOf(json, "scenes");
  for (const scene of scenes) {
    const roots = listOf(scene, "nodes");
    if (roots.some((root) => hasParent.has(root)) || new Set(roots).size < roots.length)
      throw new Error("its nodes are not a tree");
  }
  if (scenes.length === 0) throw new Error("it shows nothing");
  atMost(scenes.length, 16, "scenes");
}

function checkImages(json: Fields, binary: Uint8Array): void {
  const images = fieldsOf(json, "images");
  atMost(Math.max(images.length, listOf(json, "textures").length), MODEL_LIMITS.textures, "textures");
  const views = fieldsOf(json, "bufferViews");
  let pixels = 0;
  for (const image of images) {
    const view = typeof image["bufferView"] === "number" ? views[image["bufferView"]] : undefined;
    if (!view) throw new Error("one of its images is missing");
    const from = wholeNumber(view["byteOffset"] ?? 0);
    pixels += checkImage(binary.subarray(from, from + wholeNumber(view["byteLength"])));
    atMost(pixels, MODEL_LIMITS.pixels, "pixels");
  }
}

/** The number of pixels of an image; throws if it is invalid or too large. */
export function checkImage(bytes: Uint8Array): number {
  const size = readImageSize(bytes);
  if (!size) throw new Error("an image is no PNG, JPEG or WebP");
  const [width, height] = size;
  atMost(Math.max(width, height), MODEL_LIMITS.texturePixels, "pixels along a side of an image");
  return width * height;
}

function atMost(count: number, max: number, what: string): void {
  if (count > max) throw new Error(`it has more than ${max} ${what}`);
}

function wholeNumber(value: unknown): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0)
    throw new Error("one of its numbers is invalid");
  return value;
}

function listOf(fields: Fields, name: string): readonly unknown[] {
  const list = fields[name];
  return Array.isArray(list) ? list : [];
}

function fieldsOf(fields: Fields, name: string): readonly Fields[] {
  return listOf(fields, name).map((entry) => {
    if (!isFields(entry)) throw new Error(`one of its ${name} is none`);
    return entry;
  });
}
