import type { Form } from "nowcast/internal";
import { Group, type Material } from "three";
import { Batch, type Surface } from "./batch.js";
import { createGeometry } from "./form-geometry.js";
import type { Prop } from "./prop.js";
import { createShapeMaterial } from "./shape-material.js";
import type { Sightline } from "./sightline.js";

interface Materials {
  readonly plain: Material;
  /** The material with seams, so that rolling is visible. */
  readonly seamed: Material;
  readonly clear: Material;
}

/**
 * Draws all forms except opaque boxes. Each form takes one draw call, and one more for its transparent
 * entities.
 */
export class Shapes {
  readonly group = new Group();
  readonly #batches = new Map<string, Batch>();
  readonly #batchOf = new WeakMap<Prop, Batch>();
  readonly #names = new WeakMap<Form, string>();
  #namesGiven = 0;
  #materials: Materials;
  #isRich: boolean;
  readonly #sightline: Sightline;

  constructor(isRich: boolean, sightline: Sightline) {
    this.#isRich = isRich;
    this.#sightline = sightline;
    this.#materials = createMaterials(isRich, sightline);
  }

  setDetail(isRich: boolean): void {
    if (isRich === this.#isRich) return;
    this.#isRich = isRich;
    const old = this.#materials;
    const props = [...this.#batches.values()].flatMap((batch) => batch.all);
    this.clear();
    this.#materials = createMaterials(isRich, this.#sightline);
    for (const prop of props) this.add(prop);
    for (const material of Object.values(old)) material.dispose();
  }

  add(prop: Prop): void {
    const key = this.#keyOf(prop);
    let batch = this.#batches.get(key);
    if (!batch) {
      batch = new Batch(this.group, this.#surfaceOf(prop));
      this.#batches.set(key, batch);
    }
    batch.add(prop);
    this.#batchOf.set(prop, batch);
  }

  remove(prop: Prop): void {
    const batch = this.#batchOf.get(prop);
    if (!batch) return;
    batch.remove(prop);
    this.#batchOf.delete(prop);
    if (batch.all.length === 0) this.#drop(this.#keyOf(prop), batch);
  }

  place(prop: Prop): void {
    this.#batchOf.get(prop)?.place(prop);
  }

  light(prop: Prop): void {
    this.#batchOf.get(prop)?.light(prop);
  }

  clear(): void {
    for (const [key, batch] of [...this.#batches]) this.#drop(key, batch);
  }

  dispose(): void {
    this.clear();
    for (const material of Object.values(this.#materials)) material.dispose();
  }

  #surfaceOf(prop: Prop): Surface {
    const { form, opacity } = prop;
    const isClear = opacity < 1;
    return {
      geometry: () => createGeometry(form),
      material: this.#materialOf(prop),
      depth: undefined,
      castsShadow: !isClear,
      isSizedByShader: false,
    };
  }

  #materialOf({ form, opacity, body, texture }: Prop): Material {
    const { plain, seamed, clear } = this.#materials;
    if (texture) {
      const pattern = opacity < 1 ? "clear" : "plain";
      return this.#sightline.open(createShapeMaterial(this.#isRich, pattern, texture));
    }
    if (opacity < 1) return clear;
    return form.shape === "sphere" && body.isLoose ? seamed : plain;
  }

  #keyOf({ form, opacity, body, texture }: Prop): string {
    const pattern = opacity < 1 ? "clear" : body.isLoose ? "loose" : "held";
    return `${this.#nameOf(form)} ${pattern}${texture ? ` ${texture.uuid}` : ""}`;
  }

  /** A material with a texture belongs to its batch alone. */
  #drop(key: string, batch: Batch): void {
    const { material } = batch;
    batch.clear();
    batch.dispose();
    if (!Object.values(this.#materials).includes(material)) material.dispose();
    this.#batches.delete(key);
  }

  /** Equal forms are drawn together; meshes only if they are the same object. */
  #nameOf(form: Form): string {
    switch (form.shape) {
      case "box":
        return `box ${form.size.join(" ")}`;
      case "sphere":
        return `sphere ${form.radius}`;
      case "capsule":
      case "cylinder":
      case "cone":
        return `${form.shape} ${form.radius} ${form.height}`;
      default: {
        const known = this.#names.get(form);
        if (known !== undefined) return known;
        const name = `${form.shape} #${++this.#namesGiven}`;
        this.#names.set(form, name);
        return name;
      }
    }
  }
}

function createMaterials(isRich: boolean, sightline: Sightline): Materials {
  return {
    plain: sightline.open(createShapeMaterial(isRich, "plain")),
    seamed: sightline.open(createShapeMaterial(isRich, "seamed")),
    clear: sightline.open(createShapeMaterial(isRich, "clear")),
  };
}
