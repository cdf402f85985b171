import {
  castAt,
  type Member,
  type Pose,
  type Prop,
  type RayBox,
  rayBoxDistance,
} from "@nowcast/three/internal";
import type { TargetRule } from "nowcast/internal";
import { Vector3 } from "three";
import type { Target } from "../actions.js";
import { type Actor, boxOf, CAUTION_M, distanceTo, metresTo } from "../targets.js";

/** Maximum distance of a touched entity from the palm, in metres. */
const TOUCH_M = 0.16;
/** A hand in the world. */
export interface Reaching {
  /** The middle of the palm. */
  readonly palm: Readonly<Vector3>;
  /** The origin of pointing, toward -Z. */
  readonly ray: Pose;
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
  AHEAD.set(0, 0, -1).applyQuaternion(ray.quaternion);
  const from = [...ray.position.toArray(), AHEAD.x, AHEAD.y, AHEAD.z] as const;
  const consider = (candidate: Prop | Member, box: RayBox, prop: Prop | undefined): void => {
    if (candidate.id === actor.id || candidate.id === actor.body.holding) return;
    if (of && !of.has(candidate.body.kind)) return;
    // The server measures the reach from the body, not from the hand.
    if (distanceTo(actor, box) > reachM - CAUTION_M) return;
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

const AHEAD = new Vector3();
