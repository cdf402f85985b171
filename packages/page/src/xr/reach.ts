import {
  castAt,
  type Member,
  type Pose,
  type Prop,
  type RayBox,
  rayBoxDistance,
} from "@nowcast/three/internal";
import type { TargetRule } from "nowcast/internal";
import { Quaternion, Vector3 } from "three";
import type { Target } from "../actions.js";
import type { Actor } from "../targets.js";

/** Maximum distance of a touched entity from the palm, in metres. */
const TOUCH_M = 0.16;
/**
 * Margin that is subtracted from the world's reach, so that a highlighted target is within reach even if its
 * shown position is old.
 */
const CAUTION_M = 0.1;
const PERSON_RADIUS_M = 0.35;

/** A hand in the world. */
export interface Reaching {
  /** The middle of the palm. */
  readonly palm: Readonly<Vector3>;
  /** The origin of pointing, toward -Z. */
  readonly ray: Readonly<Pose>;
}

/**
 * A hand's target: the entity that the hand touches, or else the entity within the action's reach at which the hand points.
 */
export function findHandTarget(
  actor: Actor,
  { palm, ray }: Reaching,
  { of, reachM }: TargetRule,
  props: Iterable<Prop>,
  members: readonly Member[],
): Target | undefined {
  let touched: number | undefined;
  let touchedM = TOUCH_M;
  let pointed: number | undefined;
  let pointedM = Number.POSITIVE_INFINITY;
  AHEAD.set(0, 0, -1).applyQuaternion(TURN.set(ray.qx, ray.qy, ray.qz, ray.qw));
  const from = [ray.x, ray.y, ray.z, AHEAD.x, AHEAD.y, AHEAD.z] as const;
  const consider = (candidate: Prop | Member, box: RayBox, prop: Prop | undefined): void => {
    if (candidate.id === actor.id || candidate.id === actor.body.holding) return;
    if (of && !of.has(candidate.body.kind)) return;
    // The server measures the reach from the body, not from the hand.
    if (metresTo(box, actor.x, clampedHeight(actor, box.y), actor.z) > reachM - CAUTION_M) return;
    const metres = metresTo(box, palm.x, palm.y, palm.z);
    if (metres < touchedM) [touched, touchedM] = [candidate.id, metres];
    const ahead = prop ? castAt(prop, 0, ...from, reachM) : rayBoxDistance(box, 0, ...from);
    if (ahead < pointedM) [pointed, pointedM] = [candidate.id, ahead];
  };
  for (const prop of props) consider(prop, prop, prop);
  for (const member of members) consider(member, boxOf(member), undefined);
  if (touched !== undefined) return { id: touched, rank: touchedM - 2 };
  return pointed === undefined || pointedM > reachM ? undefined : { id: pointed, rank: pointedM };
}

/** Distance from a point to the surface of a box; 0 inside. */
export function metresTo(box: RayBox, x: number, y: number, z: number): number {
  POINT.set(x - box.x, y - box.y, z - box.z);
  POINT.applyQuaternion(TURN_BACK.set(-box.qx, -box.qy, -box.qz, box.qw));
  return Math.hypot(
    Math.max(0, Math.abs(POINT.x) - box.halfX),
    Math.max(0, Math.abs(POINT.y) - box.halfY),
    Math.max(0, Math.abs(POINT.z) - box.halfZ),
  );
}

/** The height on a body's axis that is nearest to a given height. */
function clampedHeight(actor: Actor, y: number): number {
  return Math.min(actor.y + actor.halfHeight, Math.max(actor.y - actor.halfHeight, y));
}

function boxOf(member: Member): RayBox {
  const { x, y, z, qx, qy, qz, qw, size, halfHeight } = member;
  const radius = PERSON_RADIUS_M * size;
  return { x, y, z, qx, qy, qz, qw, halfX: radius, halfY: halfHeight, halfZ: radius };
}

const TURN = new Quaternion();
const TURN_BACK = new Quaternion();
const POINT = new Vector3();
const AHEAD = new Vector3();
