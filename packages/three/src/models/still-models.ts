import type { ModelLook } from "nowcast/internal";
import { Color, DynamicDrawUsage, type Group, InstancedMesh, Matrix4, Mesh } from "three";
import type { Model } from "./load-model.js";
import { type Bearer, placeModel } from "./moving-model.js";

const CAPACITY_MIN = 8;

interface Slot {
  readonly bearer: Bearer;
  readonly look: ModelLook;
  isLit: boolean;
}

/**
 * Draws all entities that show one static model. Each mesh of the model takes one draw call for any number of
 * entities.
 */
export class StillModels {
  readonly #slots: Slot[] = [];
  readonly #places = new Map<number, number>();
  readonly #sources: { readonly mesh: Mesh; readonly matrix: Matrix4 }[] = [];
  #meshes: InstancedMesh[] = [];
  #capacity = CAPACITY_MIN;
  readonly #group: Group;

  constructor(group: Group, model: Model) {
    this.#group = group;
    model.root.updateMatrixWorld(true);
    model.root.traverse((object) => {
      if (object instanceof Mesh) this.#sources.push({ mesh: object, matrix: object.matrixWorld.clone() });
    });
    this.#rebuild();
  }

  add(bearer: Bearer, look: ModelLook): void {
    this.#places.set(bearer.id, this.#slots.length);
    this.#slots.push({ bearer, look, isLit: false });
    if (this.#slots.length > this.#capacity) {
      this.#capacity *= 2;
      this.#rebuild();
    }
    this.#write(this.#slots.length - 1);
    this.#count();
  }

  /** Removes an entity. Returns whether it was the last one. */
  remove(id: number): boolean {
    const place = this.#places.get(id);
    if (place === undefined) return false;
    this.#places.delete(id);
    const last = this.#slots.pop()!;
    if (last.bearer.id !== id) {
      this.#slots[place] = last;
      this.#places.set(last.bearer.id, place);
      this.#write(place);
    }
    this.#count();
    return this.#slots.length === 0;
  }

  place(id: number): void {
    const place = this.#places.get(id);
    if (place !== undefined) this.#write(place);
  }

  light(id: number, isLit: boolean): void {
    const place = this.#places.get(id);
    if (place === undefined) return;
    this.#slots[place]!.isLit = isLit;
    this.#write(place);
  }

  dispose(): void {
    for (const mesh of this.#meshes) {
      this.#group.remove(mesh);
      mesh.dispose();
    }
    this.#meshes = [];
  }

  #write(place: number): void {
    const { bearer, look, isLit } = this.#slots[place]!;
    placeModel(bearer, look, PLACE);
    this.#meshes.forEach((mesh, i) => {
      mesh.setMatrixAt(place, MATRIX.multiplyMatrices(PLACE, this.#sources[i]!.matrix));
      mesh.setColorAt(place, isLit ? LIT : PLAIN);
      mesh.instanceMatrix.needsUpdate = true;
      if (mesh.instanceColor) mesh.instanceColor.needsUpdate = true;
    });
  }

  #count(): void {
    for (const mesh of this.#meshes) mesh.count = this.#slots.length;
  }

  #rebuild(): void {
    this.dispose();
    this.#meshes = this.#sources.map(({ mesh }) => {
      const instanced = new InstancedMesh(mesh.geometry, mesh.material, this.#capacity);
      instanced.instanceMatrix.setUsage(DynamicDrawUsage);
      instanced.castShadow = instanced.receiveShadow = true;
      // The mesh's instances are spread over the world, so culling the whole mesh would have no effect.
      instanced.frustumCulled = false;
      this.#group.add(instanced);
      return instanced;
    });
    for (let place = 0; place < this.#slots.length; place++) this.#write(place);
    this.#count();
  }
}

const PLAIN = new Color(1, 1, 1);
/** A colour brighter than white, for the highlight of entities within a hand's reach. */
const LIT = new Color(1.7, 1.65, 1.5);
const PLACE = new Matrix4();
const MATRIX = new Matrix4();
