import {
  type BufferGeometry,
  Color,
  DynamicDrawUsage,
  type Group,
  InstancedBufferAttribute,
  InstancedMesh,
  type Material,
  Matrix4,
  Vector3,
} from "three";
import type { Prop } from "./prop.js";

const CAPACITY_MIN = 16;

/** The shared properties of the entities of a batch. */
export interface Surface {
  /**
   * Creates the geometry for a batch. Each batch needs its own, because the attributes of its instances are
   * part of it.
   */
  geometry(): BufferGeometry;
  readonly material: Material;
  /** The material for shadows, if it differs from the material for the camera. */
  readonly depth: Material | undefined;
  readonly castsShadow: boolean;
  /** Whether the vertex shader applies the size, by the attribute `aHalf`, instead of the matrix. */
  readonly isSizedByShader: boolean;
}

/**
 * Entities of one form in one draw call, each with a pose, a size, a colour and a style. The style has three
 * numbers: 1 for fixed entities, the glow, and the opacity.
 */
export class Batch {
  #mesh: InstancedMesh | undefined;
  #half!: InstancedBufferAttribute;
  #style!: InstancedBufferAttribute;
  #capacity = CAPACITY_MIN;
  readonly #props: Prop[] = [];
  #surface: Surface;

  constructor(
    readonly group: Group,
    surface: Surface,
  ) {
    this.#surface = surface;
    this.#rebuild();
  }

  get all(): readonly Prop[] {
    return this.#props;
  }

  get material(): Material {
    return this.#surface.material;
  }

  setSurface(surface: Surface): void {
    this.#surface = surface;
    this.#rebuild();
  }

  add(prop: Prop): void {
    prop.slot = this.#props.length;
    this.#props.push(prop);
    if (this.#props.length > this.#capacity) {
      this.#capacity *= 2;
      this.#rebuild();
      return;
    }
    this.#write(prop);
    this.#touch();
  }

  /** Removes a prop. The last prop moves into the free slot, so that no slot is empty. */
  remove(prop: Prop): void {
    const last = this.#props.pop()!;
    if (last !== prop) {
      last.slot = prop.slot;
      this.#props[last.slot] = last;
      this.#write(last);
    }
    prop.slot = -1;
    this.#touch();
  }

  clear(): void {
    for (const prop of this.#props) prop.slot = -1;
    this.#props.length = 0;
    this.#touch();
  }

  /** Shows a prop at its current pose. */
  place(prop: Prop): void {
    if (this.#surface.isSizedByShader) SCALE.setScalar(1);
    else SCALE.set(...prop.body.scale);
    this.#mesh!.setMatrixAt(prop.slot, MATRIX.compose(prop.position, prop.quaternion, SCALE));
    this.#mesh!.instanceMatrix.needsUpdate = true;
  }

  /** Shows a prop with its current glow. */
  light(prop: Prop): void {
    this.#style.setY(prop.slot, prop.glow);
    this.#style.needsUpdate = true;
  }

  dispose(): void {
    const mesh = this.#mesh;
    if (!mesh) return;
    this.group.remove(mesh);
    mesh.geometry.dispose();
    mesh.dispose();
    this.#mesh = undefined;
  }

  #write(prop: Prop): void {
    this.#half.setXYZ(prop.slot, prop.halfX, prop.halfY, prop.halfZ);
    this.#style.setXYZ(prop.slot, prop.body.isLoose ? 0 : 1, prop.glow, prop.opacity);
    this.#mesh!.setColorAt(prop.slot, COLOR.set(prop.color));
    this.place(prop);
  }

  #touch(): void {
    const mesh = this.#mesh!;
    mesh.count = this.#props.length;
    if (mesh.instanceColor) mesh.instanceColor.needsUpdate = true;
    this.#half.needsUpdate = true;
    this.#style.needsUpdate = true;
  }

  #rebuild(): void {
    this.dispose();
    const { material, depth, castsShadow } = this.#surface;
    const geometry = this.#surface.geometry();
    this.#half = new InstancedBufferAttribute(new Float32Array(this.#capacity * 3), 3);
    this.#style = new InstancedBufferAttribute(new Float32Array(this.#capacity * 3), 3);
    geometry.setAttribute("aHalf", this.#half);
    geometry.setAttribute("aStyle", this.#style);
    const mesh = new InstancedMesh(geometry, material, this.#capacity);
    mesh.instanceMatrix.setUsage(DynamicDrawUsage);
    mesh.setColorAt(0, COLOR.set(0xffffff));
    if (depth) mesh.customDepthMaterial = depth;
    mesh.castShadow = castsShadow;
    mesh.receiveShadow = true;
    // The mesh's instances are spread over the world, so culling the whole mesh would have no effect.
    mesh.frustumCulled = false;
    this.#mesh = mesh;
    for (const prop of this.#props) this.#write(prop);
    this.#touch();
    this.group.add(mesh);
  }
}

const SCALE = new Vector3();
const MATRIX = new Matrix4();
const COLOR = new Color();
