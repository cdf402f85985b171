import type { Look } from "nowcast/internal";
import { Group, type PerspectiveCamera, type Texture, type Vector3 } from "three";
import { AssetCache } from "./asset-cache.js";
import { type AssetError, Assets, kitModelOf } from "./assets.js";
import { Labels } from "./labels.js";
import type { Body } from "./look/body.js";
import { MODEL_LIMITS } from "./models/inspect-glb.js";
import { disposeTexture, loadModel, loadTexture, type Model } from "./models/load-model.js";
import { Models } from "./models/models.js";
import type { Bearer } from "./models/moving-model.js";
import { Crowd } from "./people/crowd.js";
import type { Tracking } from "./people/tracked/tracking.js";
import { copyPose, createPose, isSamePose, type Pose, type PoseSource } from "./pose.js";
import type { Batch } from "./scene/batch.js";
import { Boxes } from "./scene/boxes.js";
import { type Burst, Bursts } from "./scene/bursts.js";
import { Footprints } from "./scene/footprints.js";
import { takesTexture } from "./scene/form-geometry.js";
import { Ground, isGround, isPaving } from "./scene/ground.js";
import { Halos } from "./scene/halos.js";
import { LampPools } from "./scene/lamp-pools.js";
import { Obstacles } from "./scene/obstacles.js";
import { createProp, type Prop } from "./scene/prop.js";
import { Shapes } from "./scene/shapes.js";
import { Sightline } from "./scene/sightline.js";
import { Signs } from "./scene/signs.js";
import { Trails } from "./scene/trails.js";

/** The level of detail. */
export interface Detail {
  /** Number of steps around each quarter of a block's rounded edge. */
  readonly bevelSegments: number;
  /** Whether surfaces are reflective instead of plain. */
  readonly rich: boolean;
  /** Whether there are tufts of grass on the lawn. */
  readonly grass: boolean;
}

export interface WorldSceneOptions {
  readonly detail?: Detail | undefined;
  /** An element over the picture, of the same size, for the labels of entities; without it there are no labels. */
  readonly labels?: HTMLElement | undefined;
  /** The source of models and textures: see {@link Assets}. */
  readonly assets?: Assets | undefined;
  /** Receives the reason why a model or a texture cannot be shown; writes it to the console by default. */
  readonly report?: ((error: AssetError) => void) | undefined;
}

const DETAIL: Detail = { bevelSegments: 2, rich: true, grass: false };
/** The highlight of entities within a hand's reach. */
const HIGHLIGHT = 1;
const LABEL_ABOVE_M = 0.28;
const LAWN_REST_S = 0.3;

/**
 * The drawing of a world: ground, entities, players, models, and labels.
 *
 * Add `group` to a scene of three.js. The scene does not open a connection; `WorldView` passes a world's
 * contents to it.
 */
export class WorldScene {
  readonly group = new Group();
  readonly obstacles = new Obstacles();
  readonly crowd = new Crowd();
  /** The camera's place, if people so near to the camera that they would fill the picture must not be drawn. */
  eye: Vector3 | undefined;
  readonly labels: Labels;
  readonly assets: Assets;
  /** Discards fragments between the camera and the watched avatar. */
  readonly sightline = new Sightline();
  readonly #ground = new Ground();
  readonly #boxes: Boxes;
  readonly #shapes: Shapes;
  readonly #modelCache: AssetCache<Model>;
  readonly #textures: AssetCache<Texture>;
  readonly #models: Models;
  readonly #footprints: Footprints;
  readonly #halos = new Halos();
  readonly #pools = new LampPools();
  readonly #signs = new Signs();
  readonly #trails = new Trails();
  readonly #bursts = new Bursts();
  readonly #props = new Map<number, Prop>();
  /** Props that may move in each frame. */
  readonly #moving = new Set<Prop>();
  /** The heights of the sea that entities declare. */
  readonly #seas = new Map<number, number>();
  readonly #pose = createPose();
  #detail: Detail;
  #trackedPeople: Tracking | undefined;
  #highlighted: number | undefined;
  #hasChanged = true;
  /**
   * Whether grass must be placed again, because the ground, its obstacles, or the detail has changed. Then the time
   * since the last change.
   */
  #hasLawnChanged = true;
  #lawnSeconds = 0;
  /** Height of the lowest underside of the ground, or infinity without ground; `undefined` if it must be found again. */
  #lowest: number | undefined;

  constructor({ detail = DETAIL, labels, assets = new Assets(), report = warn }: WorldSceneOptions = {}) {
    this.#detail = detail;
    this.labels = new Labels(labels);
    this.assets = assets;
    const { fileBytes } = MODEL_LIMITS;
    this.#modelCache = new AssetCache(
      assets,
      async (entry) => {
        const kit = kitModelOf(entry.name);
        if (kit !== undefined)
          return this.sightline.openModel((await import("./models/kit.js")).createKitModel(kit));
        return this.sightline.openModel(await loadModel(await assets.get(entry, fileBytes)));
      },
      (model) => model.dispose(),
      report,
    );
    this.#textures = new AssetCache(
      assets,
      async (entry) => loadTexture(await assets.get(entry, fileBytes)),
      disposeTexture,
      report,
    );
    this.#models = new Models(this.#modelCache, (id) => this.#modelShown(id));
    this.#boxes = new Boxes(detail.bevelSegments, detail.rich, this.sightline);
    this.#shapes = new Shapes(detail.rich, this.sightline);
    this.#ground.setDetail(detail.rich);
    this.#footprints = new Footprints((x, y, z) => this.#ground.topAt(x, y, z));
    const { crowd } = this;
    const ground = this.#ground;
    const boxes = this.#boxes;
    const shapes = this.#shapes;
    const models = this.#models;
    this.group.add(ground.group, boxes.batch.group, shapes.group, crowd.group, models.group);
    this.group.add(this.#signs.group, this.#trails.group, this.#bursts.points);
    this.group.add(this.#footprints.group, this.#halos.points, this.#pools.mesh);
    crowd.onLanding = ({ position: { x, y, z }, halfHeight }, force) => {
      if (this.#detail.rich && !prefersStillness()) this.#bursts.addDust(x, y - halfHeight, z, force);
    };
  }

  setDetail(detail: Detail): void {
    this.#detail = detail;
    this.#boxes.setDetail(detail.bevelSegments, detail.rich);
    this.#shapes.setDetail(detail.rich);
    this.#ground.setDetail(detail.rich);
    this.#changeLawn();
    this.#hasChanged = true;
  }

  /** Heads and hands of players with headsets; `undefined` until there are some. */
  get tracking(): Tracking | undefined {
    return this.#trackedPeople;
  }

  /** Sets the heads and hands to show; `undefined` shows none. */
  setTracking(tracking: Tracking | undefined): void {
    this.#trackedPeople?.dispose();
    this.#trackedPeople = tracking;
    this.crowd.tracking = tracking;
    if (tracking) this.group.add(tracking.group);
  }

  /** Sets the files of a world's definition. Call `change` afterwards for the entities that show one. */
  define(definition: unknown): void {
    this.assets.define(definition);
    this.#modelCache.define();
    this.#textures.define();
  }

  /** `name` is the name of the player whose avatar it is. */
  add(body: Body, pose: Pose, name: string | undefined): void {
    const before = this.#props.get(body.id);
    this.#take(body.id);
    this.#addLook(body, pose, name, before?.hasMoved);
    this.#compareLawn(before, this.#props.get(body.id));
  }

  #addLook(body: Body, pose: Pose, name: string | undefined, hasMoved = false): void {
    const { appearance } = body;
    if (!appearance) return this.#models.remove(body.id);
    const { form, sea } = appearance;
    if (sea !== undefined) this.#setSea(body.id, sea);
    if (form?.shape === "person") this.crowd.add(body, pose);
    else if (form) this.#addVehicle(Object.assign(createProp(body, form, pose), { hasMoved }));
    this.#showModel(body.id, appearance);
    this.#name(body, pose, name);
    this.#hasChanged = true;
  }

  /** Adds a prop, and its driver if it has one. */
  #addVehicle(prop: Prop): void {
    this.#addProp(prop);
    if (prop.body.driver !== undefined) this.crowd.seat(prop.body, prop, prop.halfY);
  }

  /** Applies a changed look. A moving entity keeps its shown pose; a fixed entity moves to its new pose. */
  change(body: Body, pose: Pose, name: string | undefined): void {
    const member = this.crowd.get(body.id);
    if (member && body.appearance?.form?.shape === "person") {
      this.crowd.change(body);
      member.isModelled = false;
      this.#showModel(body.id, body.appearance);
      this.#name(body, member, name);
      return;
    }
    const shown = member ?? this.#props.get(body.id);
    this.add(body, shown && !body.isFixed ? shown : pose, name);
  }

  /** Applies another name or another avatar of a player. */
  rename(id: number, name: string | undefined): void {
    const bearer = this.#bearerOf(id);
    if (bearer) this.#name(bearer.body, bearer, name);
  }

  remove(id: number): void {
    const before = this.#props.get(id);
    this.#models.remove(id);
    this.#take(id);
    this.#compareLawn(before, undefined);
  }

  clear(): void {
    this.#trackedPeople?.clear();
    this.#models.clear();
    this.#boxes.batch.clear();
    this.#shapes.clear();
    this.#signs.clear();
    this.#trails.clear();
    this.#bursts.clear();
    this.#footprints.clear();
    this.#halos.clear();
    this.#pools.clear();
    this.crowd.clear();
    this.#ground.clear();
    this.labels.clear();
    this.obstacles.clear();
    this.#props.clear();
    this.#moving.clear();
    this.#setSea(undefined, 0);
    this.#highlighted = undefined;
    this.#changeLawn();
    this.#hasChanged = true;
  }

  /**
   * Frees all objects that the scene has created, on the graphics processor and on the page. The scene cannot be used
   * afterwards.
   */
  dispose(): void {
    this.clear();
    this.setTracking(undefined);
    this.#boxes.dispose();
    this.#shapes.dispose();
    this.#footprints.dispose();
    this.#halos.dispose();
    this.#pools.dispose();
    this.#bursts.dispose();
    this.crowd.dispose();
    this.#modelCache.dispose();
    this.#textures.dispose();
    this.group.removeFromParent();
  }

  /** Height of the sea around the world, in metres, if there is one: the highest that an entity declares. */
  get sea(): number | undefined {
    return this.#seas.size === 0 ? undefined : Math.max(...this.#seas.values());
  }

  /** Height of the lowest underside of the ground, in metres; `undefined` in a world without ground or without people. */
  get land(): number | undefined {
    if (this.crowd.members.length === 0) return undefined;
    this.#lowest ??= this.#findLowest();
    return Number.isFinite(this.#lowest) ? this.#lowest : undefined;
  }

  /** All entities except players. */
  get all(): Iterable<Prop> {
    return this.#props.values();
  }

  /** Returns the prop of an entity; undefined for a player or an unknown entity. */
  get(id: number): Prop | undefined {
    return this.#props.get(id);
  }

  /** Moves all props to their current poses. */
  placeProps(source: PoseSource): void {
    for (const prop of this.#moving) {
      if (!source.pose(prop.id, this.#pose) || isSamePose(this.#pose, prop)) continue;
      copyPose(this.#pose, prop);
      if (isPaving(prop)) this.#changeLawn();
      prop.hasMoved = true;
      if (source.display.hasJumped(prop.id)) this.#trails.restart(prop.id);
      if (prop.isModelled) this.#models.place(prop.id);
      else this.#rendererOf(prop).place(prop);
      this.#signs.place(prop);
      this.#footprints.place(prop);
      this.#halos.place(prop);
      this.#pools.place(prop);
      this.#hasChanged = true;
    }
  }

  /** Moves people to their current poses. */
  placePeople(source: PoseSource): void {
    const { members } = this.crowd;
    for (let i = 0; i < members.length; i++) {
      const { id } = members[i]!;
      if (source.pose(id, this.#pose)) this.crowd.place(id, this.#pose, source.display.hasJumped(id));
    }
    this.#trackedPeople?.place(source);
  }

  /**
   * Advances limbs, models and grass by a frame. `hidden` is a person that is not drawn, because the camera
   * is inside it.
   */
  animate(seconds: number, hidden?: number | undefined): void {
    this.#trackedPeople?.update(seconds);
    this.crowd.update(seconds, this.obstacles, hidden, this.eye);
    if (this.#models.update(seconds, hidden)) this.#hasChanged = true;
    this.#trails.update(seconds, this.eye);
    this.#bursts.update(seconds);
    this.#tendLawn(seconds);
  }

  /** Draws the labels for a camera. The name of `own`, the player's own avatar, is left out. */
  updateLabels(nowMs: number, camera: PerspectiveCamera, own?: number | undefined): void {
    this.labels.update(nowMs, camera, own, this.obstacles);
  }

  /** Lets particles fly apart from a place. */
  burst(burst: Burst): void {
    this.#bursts.add(burst);
  }

  /** Highlights one entity, and no other. */
  highlight(id: number | undefined): void {
    if (id === this.#highlighted) return;
    this.#light(this.#highlighted, 0);
    this.#light(id, HIGHLIGHT);
    this.#highlighted = id;
  }

  /** Whether an entity has moved since the last call. If none has, the shadows stay as they are. */
  takeChanged(): boolean {
    const changed = this.#hasChanged;
    this.#hasChanged = false;
    return changed || this.crowd.members.length > 0;
  }

  /** Places grass as soon as no more fixed entities and no more paving arrive. */
  #tendLawn(seconds: number): void {
    if (!this.#hasLawnChanged) return;
    this.#lawnSeconds += seconds;
    if (this.#lawnSeconds < LAWN_REST_S) return;
    this.#hasLawnChanged = false;
    const paving = [...this.#props.values()].filter(isPaving);
    if (this.#detail.grass) this.#ground.grow([...this.obstacles.fixed(), ...paving]);
    else this.#ground.mow();
  }

  /** Removes all parts of an entity except its model, which stays if the entity is only described again. */
  #take(id: number): void {
    this.crowd.remove(id);
    this.labels.remove(id);
    if (this.#seas.has(id)) this.#setSea(id, undefined);
    const prop = this.#props.get(id);
    if (!prop) return;
    this.#signs.remove(id);
    this.#trails.remove(id);
    this.#footprints.remove(prop);
    this.#halos.remove(prop);
    this.#pools.remove(prop);
    if (this.#ground.remove(id)) this.#footprints.refresh();
    else if (!prop.isModelled) this.#rendererOf(prop).remove(prop);
    this.obstacles.remove(prop);
    this.#moving.delete(prop);
    this.#props.delete(id);
    this.#hasChanged = true;
  }

  /** Sets the sea of one entity, or of all. */
  #setSea(id: number | undefined, sea: number | undefined): void {
    if (id === undefined) this.#seas.clear();
    else if (sea === undefined) this.#seas.delete(id);
    else this.#seas.set(id, sea);
    this.#ground.setInSea(this.#seas.size > 0);
  }

  #findLowest(): number {
    let lowest = Number.POSITIVE_INFINITY;
    for (const prop of this.#props.values()) {
      if (isGround(prop)) lowest = Math.min(lowest, prop.position.y - prop.halfY);
    }
    return lowest;
  }

  /** Grows the grass again if an entity takes another part of the ground than before. */
  #compareLawn(before: Prop | undefined, after: Prop | undefined): void {
    if (lawnPartOf(before) !== lawnPartOf(after)) this.#changeLawn();
  }

  #changeLawn(): void {
    this.#lowest = undefined;
    this.#hasLawnChanged = true;
    this.#lawnSeconds = 0;
  }

  #addProp(prop: Prop): void {
    this.#props.set(prop.id, prop);
    const picture = takesTexture(prop.form) ? prop.body.appearance?.texture : undefined;
    if (picture !== undefined) prop.texture = this.#textures.peek(picture);
    if (isGround(prop)) {
      this.#ground.add(prop);
      this.#footprints.refresh();
    } else {
      this.#rendererOf(prop).add(prop);
      this.#footprints.add(prop);
      this.#halos.add(prop);
      this.#pools.add(prop);
    }
    this.#signs.add(prop);
    if (prop.body.isSolid) this.obstacles.add(prop);
    if (!prop.body.isFixed) this.#trails.add(prop);
    if (!prop.body.isFixed) this.#moving.add(prop);
    if (prop.id === this.#highlighted) this.#light(prop.id, HIGHLIGHT);
    if (picture !== undefined && !prop.texture) void this.#loadTextureOf(prop, picture);
  }

  async #loadTextureOf(prop: Prop, picture: string): Promise<void> {
    const texture = await this.#textures.get(picture);
    // The entity may have been removed or changed in the meantime.
    if (!texture || this.#props.get(prop.id) !== prop) return;
    if (!prop.isModelled) this.#rendererOf(prop).remove(prop);
    prop.texture = texture;
    if (!prop.isModelled) this.#rendererOf(prop).add(prop);
    this.#hasChanged = true;
  }

  #showModel(id: number, { model }: Look): void {
    const bearer = this.#bearerOf(id);
    if (!model || !bearer) return this.#models.remove(id);
    this.#models.set(bearer, model);
  }

  /** A model is loaded, so the form that replaced it is removed. */
  #modelShown(id: number): void {
    this.hide(id);
    this.#models.place(id);
    this.#models.light(id, id === this.#highlighted);
  }

  /** Does not draw the form of an entity, because a model or an object of the page is drawn in its place. */
  hide(id: number): void {
    const member = this.crowd.get(id);
    if (member) member.isModelled = true;
    const prop = this.#props.get(id);
    if (prop && !prop.isModelled) {
      this.#rendererOf(prop).remove(prop);
      prop.isModelled = true;
    }
    this.#hasChanged = true;
  }

  #bearerOf(id: number): Bearer | undefined {
    return this.crowd.get(id) ?? this.#props.get(id);
  }

  #rendererOf({ form, opacity, texture }: Prop): Batch | Shapes {
    return form.shape === "box" && opacity === 1 && !texture ? this.#boxes.batch : this.#shapes;
  }

  #light(id: number | undefined, by: number): void {
    const prop = id === undefined ? undefined : this.#props.get(id);
    if (!prop) return;
    prop.glow = (prop.body.appearance?.glow ?? 0) + by;
    if (prop.isModelled) this.#models.light(prop.id, by > 0);
    else if (prop.slot >= 0) this.#rendererOf(prop).light(prop);
  }

  #name(body: Body, at: Pose, name: string | undefined): void {
    const text = [name, body.appearance?.label].filter((part) => part).join(" · ");
    if (text === "") return this.labels.remove(body.id);
    const bearer = this.#bearerOf(body.id);
    this.labels.set(body.id, text, bearer ?? at, (bearer?.halfHeight ?? 0) + LABEL_ABOVE_M);
  }
}

/** The ground that an entity is or covers, and the colour of a lawn; empty for an entity on which grass does not depend. */
function lawnPartOf(prop: Prop | undefined): string {
  if (!prop || !((prop.body.isFixed && prop.body.isSolid) || isPaving(prop))) return "";
  const { position, quaternion, halfX, halfY, halfZ, color } = prop;
  const shape = [...position.toArray(), ...quaternion.toArray(), halfX, halfY, halfZ];
  return `${shape} ${isGround(prop) ? color : ""}`;
}

function prefersStillness(): boolean {
  return globalThis.matchMedia?.("(prefers-reduced-motion: reduce)").matches === true;
}

function warn(error: AssetError): void {
  console.warn(error.message);
}
