/** The poses of attached entities, relative to the entities to which they are attached. */
import { multiplyRotations, rotateVector } from "../interpolation/rotation.js";
import type { Display, Entity, EntityId, World } from "../world.js";
import { createPoseBuffer, type PoseBuffer, type PoseLayer } from "./layer.js";

/**
 * An entity whose place differs from the mean by more than this, in metres, moves relative to its parent. Positions are rounded to
 * 1/1,024 m, and rotations to 1/8,192.
 */
const STEADY_M = 0.005;
const STEADY_TURN = 0.004;
/**
 * An entity that moves relative to its parent is shown at most this distance from the place that was received last. The interpolated
 * poses of the two lie further apart if one of them was received later, for example because it has just come into sight.
 */
const APART_MAX_M = 0.25;
/** Number of received places in a row that make an entity steady; then the weight of a new place in the mean. */
const STEADY_COUNT = 3;
const MEAN_SHARE = 1 / 32;
const ENTITIES_MAX = 4_096;
/** Longest chain of parents that is followed. */
const PARENTS_MAX = 16;

interface Attachment {
  readonly position: Float64Array;
  readonly quaternion: Float64Array;
  /** Received places that agree with the mean. */
  count: number;
}

const INVERSE = new Float64Array(4);
const PLACE = new Float64Array(3);
const TURN = new Float64Array(4);

/**
 * Places attached entities on their parents, as the parents are shown. An entity that rests on its parent is shown at the mean of
 * its received relative places. Its interpolated pose would not fit the parent's: the parent may be shown at another moment, and
 * both move on straight lines while the parent turns. All other entities move with the difference between the shown and the
 * interpolated parent.
 */
export class Attachments implements PoseLayer {
  readonly #world: World;
  readonly #interpolator: PoseLayer;
  readonly #shown: PoseLayer & Pick<Display, "isPredicted">;
  readonly #known = new Map<EntityId, Attachment>();
  readonly #releases: readonly (() => void)[];
  /** Parents' shown and interpolated poses, by their distance in the chain from the placed entity. */
  readonly #parents: PoseBuffer[] = [];
  readonly #interpolated: PoseBuffer[] = [];
  #depth = 0;

  constructor(world: World, interpolator: PoseLayer, shown: PoseLayer & Pick<Display, "isPredicted">) {
    this.#world = world;
    this.#interpolator = interpolator;
    this.#shown = shown;
    this.#releases = [
      world.on("snapshot", ({ moved }) => this.#onSnapshot(moved)),
      world.on("change", ({ entity, parts }) => {
        if (parts.includes("parent")) this.#known.delete(entity.id);
      }),
      world.on("despawn", ({ entity }) => this.#known.delete(entity.id)),
    ];
  }

  close(): void {
    for (const release of this.#releases) release();
    this.#known.clear();
  }

  place(id: EntityId, out: PoseBuffer): boolean {
    const { avatarId, entities } = this.#world;
    const parentId = entities.get(id)?.parent;
    const depth = this.#depth;
    const isOwn = id === avatarId && this.#shown.isPredicted;
    if (parentId === undefined || isOwn || depth >= PARENTS_MAX) return false;
    this.#parents[depth] ??= createPoseBuffer();
    const parent = this.#parents[depth]!;
    this.#depth++;
    const isThere = this.#shown.place(parentId, parent);
    this.#depth--;
    if (!isThere) return false;
    const known = this.#known.get(id);
    const isSteady = known !== undefined && known.count >= STEADY_COUNT;
    if (!isSteady && !this.#moveWith(parentId, parent, out)) return false;
    if (known === undefined) return true;
    rotateVector(parent.quaternion, known.position, PLACE);
    for (let axis = 0; axis < 3; axis++) PLACE[axis] = parent.position[axis]! + PLACE[axis]!;
    const { position } = out;
    const [x, y, z] = [position[0]! - PLACE[0]!, position[1]! - PLACE[1]!, position[2]! - PLACE[2]!];
    if (!isSteady && Math.hypot(x, y, z) <= APART_MAX_M) return true;
    for (let axis = 0; axis < 3; axis++) position[axis] = PLACE[axis]!;
    multiplyRotations(parent.quaternion, known.quaternion, out.quaternion);
    return true;
  }

  /** Moves an interpolated pose by the way from the interpolated parent to the shown one. */
  #moveWith(parentId: EntityId, parent: PoseBuffer, out: PoseBuffer): boolean {
    this.#interpolated[this.#depth] ??= createPoseBuffer();
    const from = this.#interpolated[this.#depth]!;
    if (!this.#interpolator.place(parentId, from)) return false;
    for (let part = 0; part < 3; part++) INVERSE[part] = -from.quaternion[part]!;
    INVERSE[3] = from.quaternion[3]!;
    multiplyRotations(parent.quaternion, INVERSE, TURN);
    const { position, quaternion } = out;
    for (let axis = 0; axis < 3; axis++) position[axis] = position[axis]! - from.position[axis]!;
    rotateVector(TURN, position, position);
    for (let axis = 0; axis < 3; axis++) position[axis] = position[axis]! + parent.position[axis]!;
    multiplyRotations(TURN, quaternion, quaternion);
    return true;
  }

  #onSnapshot(moved: readonly Entity[]): void {
    for (const entity of moved) {
      const parent = entity.parent === undefined ? undefined : this.#world.entities.get(entity.parent);
      // Poses of different steps do not determine the pose relative to the parent.
      if (parent !== undefined && entity.tick === parent.tick) this.#record(parent, entity);
    }
  }

  #record({ position, quaternion: rotation }: Entity, entity: Entity): void {
    for (let part = 0; part < 3; part++) INVERSE[part] = -rotation[part]!;
    INVERSE[3] = rotation[3];
    for (let axis = 0; axis < 3; axis++) PLACE[axis] = entity.position[axis]! - position[axis]!;
    rotateVector(INVERSE, PLACE, PLACE);
    for (let part = 0; part < 4; part++) TURN[part] = entity.quaternion[part]!;
    multiplyRotations(INVERSE, TURN, TURN);
    let known = this.#known.get(entity.id);
    if (known === undefined) {
      if (this.#known.size >= ENTITIES_MAX) return;
      known = { position: new Float64Array(3), quaternion: new Float64Array(4), count: 0 };
      this.#known.set(entity.id, known);
    }
    const sign = dot(known.quaternion, TURN) < 0 ? -1 : 1;
    if (known.count === 0 || !isNear(known, sign)) {
      known.position.set(PLACE);
      known.quaternion.set(TURN);
      known.count = 1;
      return;
    }
    known.count++;
    const share = Math.max(MEAN_SHARE, 1 / known.count);
    for (let axis = 0; axis < 3; axis++)
      known.position[axis]! += (PLACE[axis]! - known.position[axis]!) * share;
    for (let part = 0; part < 4; part++)
      known.quaternion[part]! += (sign * TURN[part]! - known.quaternion[part]!) * share;
    const length = Math.sqrt(dot(known.quaternion, known.quaternion));
    for (let part = 0; part < 4; part++) known.quaternion[part]! /= length;
  }
}

/** Whether the place in `PLACE` and `TURN` belongs to an entity that rests on its parent. */
function isNear({ position, quaternion }: Attachment, sign: number): boolean {
  for (let axis = 0; axis < 3; axis++) {
    if (Math.abs(PLACE[axis]! - position[axis]!) > STEADY_M) return false;
  }
  for (let part = 0; part < 4; part++) {
    if (Math.abs(sign * TURN[part]! - quaternion[part]!) > STEADY_TURN) return false;
  }
  return true;
}

function dot(a: Float64Array, b: Float64Array): number {
  return a[0]! * b[0]! + a[1]! * b[1]! + a[2]! * b[2]! + a[3]! * b[3]!;
}
