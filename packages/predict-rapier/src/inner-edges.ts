/**
 * Removes contacts with the inner edges of ground that consists of several boxes, as
 * `crates/world/src/physics/inner_edges.rs` of the engine does. Rapier's JavaScript interface cannot change single
 * contacts, so the whole pair has no contact while its nearest contact is with a covered side.
 */
import type { Collider, PhysicsHooks } from "@dimforge/rapier3d-deterministic-compat";
import type { Rapier } from "./rapier.js";
import { seenFrom } from "./turns.js";

/** A side of a box is covered if another body reaches this far, in metres, beyond it and below its edges. */
const DEPTH_M = 0.01;
/** Smallest component of a contact's normal that counts as a push by a side. */
const PUSH_MIN = 1e-3;
/** The distance in metres up to which a contact is examined before the bodies touch. */
const PREDICTION_M = 0.25;

const BACK = [0, 0, 0, 1];
const POINT = [0, 0, 0];
const NORMAL = [0, 0, 0];
const PROBE = [0, 0, 0];

interface Fixed {
  readonly collider: Collider;
  readonly isBox: boolean;
  readonly at: { readonly x: number; readonly y: number; readonly z: number };
  /** Distance of its farthest point from its middle, in metres. */
  readonly reach: number;
}

export class InnerEdges implements PhysicsHooks {
  readonly #rapier: Rapier;
  readonly #fixed = new Map<number, Fixed>();
  /** Bodies that have no contacts with fixed ones. A filter replaces Rapier's own rule. */
  readonly #kinematic = new Set<number>();
  /** The pairs without contacts in the next step: for each moving collider, the fixed ones. */
  readonly #removed = new Map<number, Set<number>>();

  constructor(rapier: Rapier) {
    this.#rapier = rapier;
  }

  addMoving(collider: Collider, isKinematic: boolean): void {
    if (isKinematic) this.#kinematic.add(collider.handle);
  }

  removeMoving(collider: Collider): void {
    this.#kinematic.delete(collider.handle);
    this.#removed.delete(collider.handle);
  }

  addFixed(collider: Collider, reach: number): void {
    const isBox = collider.shapeType() === this.#rapier.ShapeType.Cuboid;
    if (isBox) collider.setActiveHooks(this.#rapier.ActiveHooks.FILTER_CONTACT_PAIRS);
    this.#fixed.set(collider.handle, { collider, isBox, reach, at: collider.translation() });
  }

  removeFixed(collider: Collider): void {
    this.#fixed.delete(collider.handle);
  }

  /** Examines the contacts of a body at (x, y, z) before a step. Its farthest point is `reach` from there, in metres. */
  examine(moving: Collider, x: number, y: number, z: number, reach: number): void {
    this.#removed.delete(moving.handle);
    if (this.#fixed.size < 2) return;
    for (const { collider, isBox, at, reach: boxReach } of this.#fixed.values()) {
      const far = reach + boxReach + PREDICTION_M;
      const isNear = isBox && (at.x - x) ** 2 + (at.y - y) ** 2 + (at.z - z) ** 2 < far * far;
      if (!isNear || !this.#isCovered(moving, collider)) continue;
      const removed = this.#removed.get(moving.handle);
      if (removed === undefined) this.#removed.set(moving.handle, new Set([collider.handle]));
      else removed.add(collider.handle);
    }
  }

  // Rapier calls both functions without their object.
  readonly filterContactPair = (a: number, b: number): number | null => {
    const isRemoved = this.#removed.get(a)?.has(b) || this.#removed.get(b)?.has(a);
    const isKinematic = this.#kinematic.has(a) || this.#kinematic.has(b);
    return isRemoved || isKinematic ? null : this.#rapier.SolverFlags.COMPUTE_IMPULSE;
  };
  readonly filterIntersectionPair = (): boolean => true;

  /** Whether a covered side pushes in the nearest contact of a body with a box. */
  #isCovered(moving: Collider, box: Collider): boolean {
    const contact = box.contactCollider(moving, PREDICTION_M);
    const halfExtents = box.halfExtents();
    if (contact === null || halfExtents === null) return false;
    const { x, y, z, w } = box.rotation();
    const turn = [x, y, z, w];
    const at = box.translation();
    const { point1, normal1 } = contact;
    seenFrom(turn, 0, point1.x - at.x, point1.y - at.y, point1.z - at.z, POINT);
    seenFrom(turn, 0, normal1.x, normal1.y, normal1.z, NORMAL);
    const half = [halfExtents.x, halfExtents.y, halfExtents.z];
    const depth = Math.min(DEPTH_M, ...half);
    for (let axis = 0; axis < 3; axis++) BACK[axis] = -turn[axis]!;
    BACK[3] = w;
    for (let axis = 0; axis < 3; axis++) {
      const side = Math.sign(NORMAL[axis]!);
      const pushes = Math.abs(NORMAL[axis]!) > PUSH_MIN && half[axis]! - side * POINT[axis]! < depth;
      if (!pushes) continue;
      for (let other = 0; other < 3; other++) {
        const inner = half[other]! - depth;
        PROBE[other] = Math.min(inner, Math.max(-inner, POINT[other]!));
      }
      PROBE[axis] = side * (half[axis]! + depth);
      seenFrom(BACK, 0, PROBE[0]!, PROBE[1]!, PROBE[2]!, PROBE);
      if (this.#holds({ x: at.x + PROBE[0]!, y: at.y + PROBE[1]!, z: at.z + PROBE[2]! }, box, depth))
        return true;
    }
    return false;
  }

  /** Whether a point is well inside of a fixed body. */
  #holds(point: { x: number; y: number; z: number }, own: Collider, depth: number): boolean {
    for (const { collider, at, reach } of this.#fixed.values()) {
      const isNear = Math.hypot(at.x - point.x, at.y - point.y, at.z - point.z) < reach;
      if (!isNear || collider === own) continue;
      const near = collider.projectPoint(point, false);
      if (!near?.isInside) continue;
      const { x, y, z } = near.point;
      if (Math.hypot(x - point.x, y - point.y, z - point.z) > depth / 2) return true;
    }
    return false;
  }
}
