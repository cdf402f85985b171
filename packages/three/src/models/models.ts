import type { ModelLook } from "nowcast/internal";
import { Group } from "three";
import type { AssetCache } from "../asset-cache.js";
import type { Model } from "./load-model.js";
import { type Bearer, MovingModel } from "./moving-model.js";
import { StillModels } from "./still-models.js";

interface Wanted {
  readonly bearer: Bearer;
  readonly look: ModelLook;
  /** The drawn object; undefined until the file is loaded. */
  model: Model | undefined;
  moving: MovingModel | undefined;
}

/** The models of entities. Static models are drawn together, other models as one clone per entity. */
export class Models {
  readonly group = new Group();
  readonly #wanted = new Map<number, Wanted>();
  readonly #still = new Map<Model, StillModels>();
  readonly #cache: AssetCache<Model>;
  readonly #shown: (id: number) => void;

  /** `shown` is called when the model of an entity begins to be drawn, so that its form can be hidden. */
  constructor(cache: AssetCache<Model>, shown: (id: number) => void) {
    this.#cache = cache;
    this.#shown = shown;
  }

  /**
   * Shows a model at a bearer's pose, as soon as it is loaded. An entity that shows this model already keeps
   * it, and its animations cross-fade.
   */
  set(bearer: Bearer, look: ModelLook): void {
    const { id } = bearer;
    const model = this.#cache.peek(look.name);
    const known = this.#wanted.get(id);
    if (known?.moving && known.model === model) {
      known.moving.change(bearer, look);
      this.#wanted.set(id, { ...known, bearer, look });
      return this.#shown(id);
    }
    this.remove(id);
    const wanted: Wanted = { bearer, look, model: undefined, moving: undefined };
    this.#wanted.set(id, wanted);
    if (model) return this.#show(wanted, model);
    void this.#cache.get(look.name).then((loaded) => {
      // The entity may have been removed or changed in the meantime.
      if (loaded && this.#wanted.get(id) === wanted) this.#show(wanted, loaded);
    });
  }

  remove(id: number): void {
    const wanted = this.#wanted.get(id);
    if (!wanted) return;
    this.#wanted.delete(id);
    wanted.moving?.dispose();
    const { model } = wanted;
    const still = model && this.#still.get(model);
    if (!model || !still?.remove(id)) return;
    still.dispose();
    this.#still.delete(model);
  }

  clear(): void {
    for (const id of [...this.#wanted.keys()]) this.remove(id);
  }

  /** Moves an entity's model to the pose of its bearer. */
  place(id: number): void {
    const wanted = this.#wanted.get(id);
    if (!wanted?.model) return;
    if (wanted.moving) wanted.moving.place();
    else this.#still.get(wanted.model)?.place(id);
  }

  /** Switches the highlight of an entity's model on or off. */
  light(id: number, isLit: boolean): void {
    const wanted = this.#wanted.get(id);
    if (!wanted?.model) return;
    if (wanted.moving) wanted.moving.light(isLit);
    else this.#still.get(wanted.model)?.light(id, isLit);
  }

  /** Advances animations by a frame; `hidden` is not drawn. Returns whether anything was animated. */
  update(seconds: number, hidden: number | undefined): boolean {
    let isAnimated = false;
    for (const [id, { moving }] of this.#wanted) {
      if (!moving) continue;
      moving.root.visible = id !== hidden;
      isAnimated = moving.update(seconds) || isAnimated;
    }
    return isAnimated;
  }

  #show(wanted: Wanted, model: Model): void {
    const { bearer, look } = wanted;
    wanted.model = model;
    // Each person's model is a separate object, because it is hidden while the camera is inside it.
    if (model.isStill && bearer.body.gait === undefined) {
      let still = this.#still.get(model);
      if (!still) {
        still = new StillModels(this.group, model);
        this.#still.set(model, still);
      }
      still.add(bearer, look);
    } else {
      wanted.moving = new MovingModel(this.group, model, bearer, look);
    }
    this.#shown(bearer.id);
  }
}
