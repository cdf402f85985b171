import { Group, type Material } from "three";
import { Batch, type Surface } from "./batch.js";
import { createBevelledBox } from "./bevelled-box.js";
import { createBoxDepthMaterial, createBoxMaterial } from "./box-material.js";
import type { Sightline } from "./sightline.js";

/** Draws every opaque box of the world in one draw call, with bevelled edges. */
export class Boxes {
  readonly #depth = createBoxDepthMaterial();
  #material: Material;
  readonly batch: Batch;
  #segments: number;
  #isRich: boolean;
  readonly #sightline: Sightline;

  constructor(segments: number, isRich: boolean, sightline: Sightline) {
    this.#sightline = sightline;
    this.#segments = segments;
    this.#isRich = isRich;
    this.#material = sightline.open(createBoxMaterial(isRich));
    this.batch = new Batch(new Group(), this.#surface());
  }

  /** Sets the quality: rounder edges and reflective surfaces, or plain surfaces for slow machines. */
  setDetail(segments: number, isRich: boolean): void {
    if (segments === this.#segments && isRich === this.#isRich) return;
    if (isRich !== this.#isRich) {
      this.#material.dispose();
      this.#material = this.#sightline.open(createBoxMaterial(isRich));
    }
    this.#segments = segments;
    this.#isRich = isRich;
    this.batch.setSurface(this.#surface());
  }

  dispose(): void {
    this.batch.clear();
    this.batch.dispose();
    this.#material.dispose();
    this.#depth.dispose();
  }

  #surface(): Surface {
    const segments = this.#segments;
    return {
      geometry: () => createBevelledBox(segments),
      material: this.#material,
      depth: this.#depth,
      castsShadow: true,
      isSizedByShader: true,
    };
  }
}
