import {
  type AnimationClip,
  ClampToEdgeWrapping,
  type Group,
  LinearMipmapLinearFilter,
  type Material,
  Mesh,
  MirroredRepeatWrapping,
  type Object3D,
  RepeatWrapping,
  type SkinnedMesh,
  SRGBColorSpace,
  Texture,
} from "three";
import type { GLTFLoaderPlugin, GLTFParser } from "three/examples/jsm/loaders/GLTFLoader.js";
import { checkImage, inspectGlb } from "./inspect-glb.js";

/** A loaded model. Entities show clones or instances of it, which share its geometries, materials and textures. */
export interface Model {
  readonly root: Group;
  readonly clips: readonly AnimationClip[];
  /** Whether the model is static, so that all entities that show it can be drawn together. */
  readonly isStill: boolean;
  dispose(): void;
}

/** Loads a `.glb` file. The code of the loader is fetched with the first file. */
export async function loadModel(file: ArrayBuffer): Promise<Model> {
  inspectGlb(file);
  const { GLTFLoader } = await import("three/examples/jsm/loaders/GLTFLoader.js");
  const loader = new GLTFLoader().register((parser) => new EmbeddedTextures(parser));
  const { scene, animations } = await loader.parseAsync(file, "");
  const extras: Object3D[] = [];
  let isStill = animations.length === 0;
  scene.traverse((object) => {
    const { isLight, isCamera } = object as { isLight?: boolean; isCamera?: boolean };
    // Lights of models are removed, because one light per entity would be too many to draw.
    if (isLight || isCamera) extras.push(object);
    if (!(object instanceof Mesh)) return;
    object.castShadow = object.receiveShadow = true;
    if ((object as Partial<SkinnedMesh>).isSkinnedMesh || object.morphTargetInfluences) isStill = false;
  });
  for (const extra of extras) extra.removeFromParent();
  return { root: scene, clips: animations, isStill, dispose: () => disposeAll(scene) };
}

/** Reads an image for the surface of a form. */
export async function loadTexture(file: ArrayBuffer): Promise<Texture> {
  checkImage(new Uint8Array(file));
  const image = await createImageBitmap(new Blob([file]), { ...AS_IT_IS, imageOrientation: "flipY" });
  const texture = new Texture(image);
  texture.flipY = false;
  texture.colorSpace = SRGBColorSpace;
  texture.wrapS = texture.wrapT = RepeatWrapping;
  texture.minFilter = LinearMipmapLinearFilter;
  texture.anisotropy = 4;
  texture.needsUpdate = true;
  return texture;
}

export function disposeTexture(texture: Texture): void {
  (texture.image as Partial<ImageBitmap> | null)?.close?.();
  texture.dispose();
}

const AS_IT_IS = { premultiplyAlpha: "none", colorSpaceConversion: "none" } as const;

/**
 * Makes textures directly from the bytes in the file. Object URLs are not used, because a strict content
 * security policy forbids them.
 */
class EmbeddedTextures implements GLTFLoaderPlugin {
  readonly name = "nowcast_embedded_textures";
  readonly #parser: GLTFParser;

  constructor(parser: GLTFParser) {
    this.#parser = parser;
  }

  async loadTexture(index: number): Promise<Texture> {
    const json = this.#parser.json as GltfTextures;
    const { source, sampler } = json.textures[index] ?? {};
    const image = json.images[source ?? 0];
    if (!image) throw new Error("a texture has no image");
    const bytes = (await this.#parser.getDependency("bufferView", image.bufferView)) as ArrayBuffer;
    const bitmap = await createImageBitmap(new Blob([bytes], { type: image.mimeType ?? "" }), AS_IT_IS);
    const texture = new Texture(bitmap);
    const { wrapS, wrapT } = json.samplers?.[sampler ?? -1] ?? {};
    texture.flipY = false;
    texture.wrapS = WRAPPING[wrapS ?? 10_497] ?? RepeatWrapping;
    texture.wrapT = WRAPPING[wrapT ?? 10_497] ?? RepeatWrapping;
    texture.minFilter = LinearMipmapLinearFilter;
    texture.needsUpdate = true;
    this.#parser.associations.set(texture, { textures: index });
    return texture;
  }
}

interface GltfTextures {
  readonly textures: readonly { readonly source?: number; readonly sampler?: number }[];
  readonly images: readonly { readonly bufferView: number; readonly mimeType?: string }[];
  readonly samplers?: readonly { readonly wrapS?: number; readonly wrapT?: number }[];
}

/** Maps WebGL constants to three.js constants. */
const WRAPPING: Readonly<Record<number, Texture["wrapS"]>> = {
  33071: ClampToEdgeWrapping,
  33648: MirroredRepeatWrapping,
  10497: RepeatWrapping,
};

function disposeAll(root: Object3D): void {
  root.traverse((object) => {
    const { geometry, material, skeleton } = object as Partial<SkinnedMesh>;
    geometry?.dispose();
    skeleton?.dispose();
    for (const one of [material ?? []].flat()) disposeMaterial(one);
  });
}

function disposeMaterial(material: Material): void {
  for (const value of Object.values(material)) if (value instanceof Texture) disposeTexture(value);
  material.dispose();
}
