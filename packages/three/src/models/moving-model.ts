import type { ModelLook } from "nowcast/internal";
import {
  type AnimationAction,
  AnimationMixer,
  Bone,
  Group,
  type Material,
  type Matrix4,
  Mesh,
  type MeshStandardMaterial,
  type Object3D,
  Quaternion,
  Skeleton,
  type SkinnedMesh,
  Vector3,
} from "three";
import type { Body } from "../look/body.js";
import type { Pose } from "../pose.js";
import type { Model } from "./load-model.js";

/** The pose of a model, and the motion that selects its animation. */
export interface Bearer extends Pose {
  readonly id: number;
  readonly body: Body;
  readonly halfHeight: number;
  /** The speeds of a walking player. */
  readonly motion?: { readonly speed: number } | undefined;
  /** The present gesture of a walking player. */
  readonly emote?: string | undefined;
}

/** Duration of a cross-fade between animations, in seconds. */
const FADE_S = 0.2;
/** At a lower speed, the entity counts as standing. */
const STANDING_SPEED = 0.3;
/** The highlight of entities within a hand's reach. */
const LIT = 0.35;

/** A clone of a model, with its own animations. */
export class MovingModel {
  readonly root: Group = new Group();
  readonly #mixer: AnimationMixer | undefined;
  #playing: AnimationAction | undefined;
  readonly #clips: Model["clips"];
  readonly #own: Material[] = [];
  readonly #group: Group;
  #bearer: Bearer;
  #look: ModelLook;

  constructor(group: Group, model: Model, bearer: Bearer, look: ModelLook) {
    this.#group = group;
    this.#bearer = bearer;
    this.#look = look;
    this.#clips = model.clips;
    const clone = cloneModel(model.root);
    this.root.add(clone);
    if (model.clips.length > 0) this.#mixer = new AnimationMixer(clone);
    group.add(this.root);
    this.place();
    this.#choose();
  }

  /** Applies a new description of the same entity. */
  change(bearer: Bearer, look: ModelLook): void {
    this.#bearer = bearer;
    this.#look = look;
    this.place();
  }

  place(): void {
    placeModel(this.#bearer, this.#look, this.root.matrix);
    this.root.matrix.decompose(this.root.position, this.root.quaternion, this.root.scale);
  }

  light(isLit: boolean): void {
    this.#dropOwn();
    this.root.traverse((object) => {
      if (!(object instanceof Mesh)) return;
      const { userData } = object;
      userData["nowcastMaterial"] ??= object.material;
      const shared = userData["nowcastMaterial"] as Material | Material[];
      if (!isLit) object.material = shared;
      else object.material = Array.isArray(shared) ? shared.map((one) => this.#lit(one)) : this.#lit(shared);
    });
  }

  /** Advances the model's animation. Returns whether the model is animated. */
  update(seconds: number): boolean {
    if (this.#bearer.motion) this.place();
    this.#choose();
    this.#mixer?.update(seconds);
    return this.#playing !== undefined;
  }

  dispose(): void {
    this.#group.remove(this.root);
    this.#mixer?.stopAllAction();
    this.#mixer?.uncacheRoot(this.#mixer.getRoot());
    this.#dropOwn();
    this.root.traverse((object) => (object as Partial<SkinnedMesh>).skeleton?.dispose());
  }

  #choose(): void {
    const mixer = this.#mixer;
    const bearer = this.#bearer;
    const look = this.#look;
    const clips = this.#clips;
    if (!mixer) return;
    const { gait } = bearer.body;
    const speed = bearer.motion?.speed ?? 0;
    const names = look.animation !== undefined ? [look.animation] : gait ? motionNames(bearer, gait) : [];
    const clip = findClip(clips, names);
    const next = clip && mixer.clipAction(clip);
    if (next !== this.#playing) {
      this.#playing?.fadeOut(FADE_S);
      next?.reset().fadeIn(FADE_S).play();
      this.#playing = next;
    }
    if (!next || !gait || look.animation !== undefined) return;
    // The animation is played faster or slower so that the feet match the ground, within limits.
    const usual = /run$/i.test(clip.name) ? gait.runSpeed : /walk$/i.test(clip.name) ? gait.walkSpeed : 0;
    next.timeScale = usual > 0 ? Math.min(2, Math.max(0.5, speed / usual)) : 1;
  }

  #lit(material: Material): Material {
    const own = material.clone();
    const { emissive } = own as Partial<MeshStandardMaterial>;
    emissive?.addScalar(LIT);
    this.#own.push(own);
    return own;
  }

  #dropOwn(): void {
    for (const material of this.#own) material.dispose();
    this.#own.length = 0;
  }
}

/** Animation names for a walker, the best first: its gesture while it stands, then those for its speed. */
export function motionNames(
  { emote, motion }: Pick<Bearer, "emote" | "motion">,
  gait: { readonly walkSpeed: number; readonly runSpeed: number },
): readonly string[] {
  const names = gaitNames(motion?.speed ?? 0, gait);
  return emote !== undefined && names[0] === "idle" ? [emote, ...names] : names;
}

/** The names of animations for a speed in metres a second, the best first. */
export function gaitNames(
  speed: number,
  gait: { readonly walkSpeed: number; readonly runSpeed: number },
): readonly string[] {
  if (speed < STANDING_SPEED) return ["idle"];
  return speed > (gait.walkSpeed + gait.runSpeed) / 2 ? ["run", "walk"] : ["walk", "run"];
}

/** The first of these names for which a clip exists. Blender writes `Armature|walk`; case does not matter. */
export function findClip<Clip extends { readonly name: string }>(
  clips: readonly Clip[],
  names: readonly string[],
): Clip | undefined {
  for (const name of names) {
    const wanted = name.toLowerCase();
    const found =
      clips.find((clip) => clip.name.toLowerCase() === wanted) ??
      clips.find((clip) => clip.name.toLowerCase().endsWith(`|${wanted}`));
    if (found) return found;
  }
  return undefined;
}

/**
 * Places the origin of a model at the middle of its entity. The model of a person is placed between the feet,
 * and is turned because people in glTF face +Z.
 */
export function placeModel(bearer: Bearer, look: ModelLook, out: Matrix4): Matrix4 {
  const { position, quaternion, body, halfHeight } = bearer;
  const [scaleX, scaleY, scaleZ] = body.scale;
  ROTATION.copy(quaternion);
  POSITION.copy(position);
  if (body.gait) {
    POSITION.y -= halfHeight;
    ROTATION.multiply(ABOUT);
  }
  SCALE.set(scaleX * look.scale[0], scaleY * look.scale[1], scaleZ * look.scale[2]);
  return out.compose(POSITION, ROTATION, SCALE);
}

/** A copy of the nodes only: geometries, materials and textures are shared, bones belong to the copy. */
function cloneModel(root: Object3D): Object3D {
  const clone = root.clone(true);
  const copies = new Map<Object3D, Object3D>();
  pairUp(root, clone, copies);
  for (const [original, copy] of copies) {
    const { isSkinnedMesh, skeleton, bindMatrix } = original as Partial<SkinnedMesh>;
    if (!isSkinnedMesh || !skeleton || !bindMatrix) continue;
    const bones = skeleton.bones.map((bone) => (copies.get(bone) as Bone | undefined) ?? new Bone());
    (copy as SkinnedMesh).bind(new Skeleton(bones, skeleton.boneInverses), bindMatrix);
  }
  return clone;
}

function pairUp(original: Object3D, copy: Object3D, into: Map<Object3D, Object3D>): void {
  into.set(original, copy);
  original.children.forEach((child, i) => {
    const other = copy.children[i];
    if (other) pairUp(child, other, into);
  });
}

const ABOUT = new Quaternion(0, 1, 0, 0);
const POSITION = new Vector3();
const ROTATION = new Quaternion();
const SCALE = new Vector3();
