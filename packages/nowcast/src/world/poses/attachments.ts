/** The poses of attached entities, relative to the entities to which they are attached. */
import type { Pose } from "../interpolation/interpolation.js";
import { multiplyRotations, rotateVector } from "../interpolation/rotation.js";
import type { Entity, EntityId, World } from "../world.js";

/**
 * An entity whose place differs from the mean by more than this, in metres, moves relative to its parent. Positions are rounded to
 * 1/1,024 m, and rotations to 1/8,192.
 */
const STEADY_M = 0.005;
const STEADY_TURN = 0.004;
/** Number of received places in a row that make an entity steady; then the weight of a new place in the mean. */
const STEADY_COUNT = 3;
const MEAN_SHARE = 1 / 32;
const ENTITIES_MAX = 4_096;

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
 * Stores the mean poses of attached entities that do not move relative to their parents. Interpolated poses of such an
 * entity and of its parent do not fit together: the parent may be shown at another moment, and each of them is interpolated
 * on a straight line while the parent turns.
 */
export class Attachments {
  readonly #world: Pick<World, "on" | "entities">;
  readonly #known = new Map<EntityId, Attachment>();
  readonly #releases: readonly (() => void)[];

  constructor(world: Pick<World, "on" | "entities">) {
    this.#world = world;
    this.#releases = [
      world.on("snapshot", ({ moved }) => this.#onSnapshot(moved)),
      world.on("change", ({ entity, parts }) => {
        if (parts.includes("parent")) this.#known.delete(entity.id);
      }),
      world.on("despawn", ({ entities }) => {
        for (const { id } of entities) this.#known.delete(id);
      }),
    ];
  }

  close(): void {
    for (const release of this.#releases) release();
    this.#known.clear();
  }

  /** Whether the place of an entity on its parent is known and steady. */
  has(id: EntityId): boolean {
    return (this.#known.get(id)?.count ?? 0) >= STEADY_COUNT;
  }

  /** Writes the pose of an entity of which {@link has} is true, on a parent with this pose. */
  place(id: EntityId, parent: Pose, out: Pose): void {
    const { position, quaternion } = this.#known.get(id)!;
    rotateVector(parent.quaternion, position, PLACE);
    for (let axis = 0; axis < 3; axis++) out.position[axis] = parent.position[axis]! + PLACE[axis]!;
    multiplyRotations(parent.quaternion, quaternion, out.quaternion);
  }

  #onSnapshot(moved: readonly Entity[]): void {
    for (const entity of moved) {
      const parent = entity.parent === undefined ? undefined : this.#world.entities.get(entity.parent);
      // Poses of different steps do not determine the pose relative to the parent.
      if (parent !== undefined && entity.tick === parent.tick) this.#record(parent, entity);
    }
  }

  #record({ position, rotation }: Entity, entity: Entity): void {
    for (let part = 0; part < 3; part++) INVERSE[part] = -rotation[part]!;
    INVERSE[3] = rotation[3];
    for (let axis = 0; axis < 3; axis++) PLACE[axis] = entity.position[axis]! - position[axis]!;
    rotateVector(INVERSE, PLACE, PLACE);
    for (let part = 0; part < 4; part++) TURN[part] = entity.rotation[part]!;
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

/** Whether the place in `PLACE` and `TURN` is that of an entity that stays where it was on its parent. */
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
