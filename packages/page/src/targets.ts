import {
  type Body,
  castAt,
  type Member,
  type Obstacles,
  type Pose,
  type Prop,
  type RayBox,
  rayBoxDistance,
  yawOf,
} from "@nowcast/three/internal";
import type { PlaceRule, TargetRule } from "nowcast/internal";
import { Quaternion, Vector3 } from "three";
import type { Place, Target } from "./actions.js";

/**
 * Margin that is subtracted from the world's reach, so that a highlighted target is within reach even if its
 * shown position is old.
 */
export const CAUTION_M = 0.1;
/** "In front" means within 60° of the facing direction. A target in view may be anywhere ahead. */
const FRONT_COSINE = 0.5;
const LOOKED_AT_COSINE = 0;
const PERSON_RADIUS_M = 0.35;
/** A point this far before a surface is in the free cell beside it. */
const BEFORE_SURFACE_M = 0.02;

/** The acting player: a pose, and half of the height. */
export interface Actor extends Pose {
  readonly id: number;
  readonly body: Body;
  readonly halfHeight: number;
}

/** The ray through the middle of the picture: its origin, and its direction with length 1. */
export interface Aim {
  readonly origin: Vector3;
  readonly direction: Vector3;
}

/**
 * Finds the target of an action, which is the first of:
 * - the entity in view
 * - the nearest entity in front
 * - the nearest character (a walker without a player) on any side, so that actions never hit a player who is not in front
 */
export function findTarget(
  actor: Actor,
  aim: Aim,
  { of, reachM }: TargetRule,
  props: Iterable<Prop>,
  members: readonly Member[],
): Target | undefined {
  const yaw = yawOf(actor.quaternion);
  const [aheadX, aheadZ] = [-Math.sin(yaw), -Math.cos(yaw)];
  let nearest: number | undefined;
  let nearestM = reachM - CAUTION_M;
  let beside: number | undefined;
  let besideM = nearestM;
  let lookedAt: number | undefined;
  let lookedAtM = Number.POSITIVE_INFINITY;
  const consider = (candidate: Prop | Member, box: RayBox, prop: Prop | undefined): void => {
    if (candidate.id === actor.id || candidate.id === actor.body.holding) return;
    if (of && !of.has(candidate.body.kind)) return;
    const [dx, dz] = [box.position.x - actor.position.x, box.position.z - actor.position.z];
    const flat = Math.hypot(dx, dz);
    if (flat > reachM + Math.hypot(box.halfX, box.halfY, box.halfZ)) return;
    const metres = distanceTo(actor, box);
    // An entity that the player stands on is ahead, wherever its middle is.
    const isBelow = Math.abs(POINT.x) <= box.halfX && Math.abs(POINT.z) <= box.halfZ;
    const cosine = isBelow ? 1 : (dx * aheadX + dz * aheadZ) / flat;
    if (metres > reachM - CAUTION_M) return;
    const isCharacter = prop === undefined && candidate.body.player === undefined;
    if (isCharacter && metres < besideM) [beside, besideM] = [candidate.id, metres];
    if (cosine < LOOKED_AT_COSINE) return;
    const sightM = castFrom(aim, box, prop);
    if (sightM < lookedAtM) [lookedAt, lookedAtM] = [candidate.id, sightM];
    if (cosine >= FRONT_COSINE && metres < nearestM) [nearest, nearestM] = [candidate.id, metres];
  };
  for (const prop of props) consider(prop, prop, prop);
  for (const member of members) consider(member, boxOf(member), undefined);
  if (lookedAt !== undefined) return { id: lookedAt, rank: -1 / (1 + lookedAtM) };
  if (nearest !== undefined) return { id: nearest, rank: nearestM };
  return beside === undefined ? undefined : { id: beside, rank: reachM + besideM };
}

/**
 * The place at which a ray meets the world, if the acting player reaches it. With a grid, the place is the middle of the free
 * cell before the surface.
 */
export function findPlace(
  actor: Actor,
  { origin, direction }: Aim,
  { reachM, gridM }: PlaceRule,
  obstacles: Obstacles,
): Place | undefined {
  const metres = obstacles.cast(origin.x, origin.y, origin.z, direction.x, direction.y, direction.z, {
    except: actor.body.holding,
  });
  if (metres === Number.POSITIVE_INFINITY) return undefined;
  POINT.copy(direction)
    .multiplyScalar(metres - (gridM > 0 ? BEFORE_SURFACE_M : 0))
    .add(origin);
  if (gridM > 0) POINT.divideScalar(gridM).floor().addScalar(0.5).multiplyScalar(gridM);
  return POINT.distanceTo(actor.position) > reachM - CAUTION_M ? undefined : [POINT.x, POINT.y, POINT.z];
}

/** Distance from the acting player's axis to the surface of a box. POINT then has the player's coordinates in the box's frame. */
export function distanceTo({ position: { x, y, z }, halfHeight }: Actor, box: RayBox): number {
  return metresTo(box, x, Math.min(y + halfHeight, Math.max(y - halfHeight, box.position.y)), z);
}

/** Distance from a point to the surface of a box; 0 inside. */
export function metresTo(box: RayBox, x: number, y: number, z: number): number {
  POINT.set(x, y, z).sub(box.position).applyQuaternion(TURN.copy(box.quaternion).conjugate());
  return Math.hypot(
    Math.max(0, Math.abs(POINT.x) - box.halfX),
    Math.max(0, Math.abs(POINT.y) - box.halfY),
    Math.max(0, Math.abs(POINT.z) - box.halfZ),
  );
}

function castFrom({ origin, direction }: Aim, box: RayBox, prop: Prop | undefined): number {
  const ray = [origin.x, origin.y, origin.z, direction.x, direction.y, direction.z] as const;
  return prop ? castAt(prop, 0, ...ray, Number.POSITIVE_INFINITY) : rayBoxDistance(box, 0, ...ray);
}

export function boxOf(member: Member): RayBox {
  const { position, quaternion, size, halfHeight } = member;
  const radius = PERSON_RADIUS_M * size;
  return { position, quaternion, halfX: radius, halfY: halfHeight, halfZ: radius };
}

const TURN = new Quaternion();
const POINT = new Vector3();
