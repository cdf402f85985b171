import { ease, type Obstacles, wrapAngle, yawOf } from "@nowcast/three/internal";
import type { Vector } from "nowcast/internal";
import { Line3, MathUtils, type PerspectiveCamera, type QuaternionLike, Vector3 } from "three";
import type { CameraRules, Shake } from "./camera-rules.js";

const PITCH_MIN = -0.5;
const PITCH_MAX = 1.35;
/** With the eyes of the avatar, the player looks up and down this far. */
const EYES_PITCH_MAX = 1.5;
/** Amplitude of the strongest shake, in radians. */
const SHAKE_RADIANS = 0.08;
const DISTANCE_MIN = 1.6;
const DISTANCE_MAX = 16;
/** Vertical field of view of a wide picture, and minimum horizontal field of view of a narrow one, in degrees. */
const [FOV, SIDEWAYS_FOV_MIN] = [52, 44];
const FOV_MAX = 84;
/** Maximum factor by which a narrow picture moves the camera back. */
const NARROW_REACH_MAX = 1.2;
/** The camera collides as a sphere of this radius, so that the near plane cuts no object. */
const RADIUS = 0.22;
/** If an obstacle limits the distance to less than this, the camera rises over the obstacle. */
const CRAMPED_M = 1.8;
/** The angles by which a cramped camera tries to rise, in radians. */
const LIFTS = [0.3, 0.6, 0.9, 1.15];
/** The camera does not rise at the first pitch, and rises fully from the second, so that looking up lowers it gradually. */
const [LIFT_PITCH_MIN, LIFT_PITCH_MAX] = [-0.3, 0.1];
/** If no angle lets the camera farther away than this, the camera looks down through the obstacles. */
const ENCLOSED_M = 0.8;
/** Maximum distance to the right of the head, in metres. */
const SHOULDER_M_MAX = 2;

/** An entity with the rotation that the world gave to it: a quaternion in the order x, y, z, w. */
export interface Placed {
  readonly quaternion: readonly [number, number, number, number];
}

/**
 * Orbits the head of an avatar. `yaw` is the direction in which the avatar walks forward: 0 faces −Z and grows
 * counter-clockwise seen from above. `pitch` is the downward angle of the camera.
 */
export class OrbitCamera {
  yaw = 0;
  pitch = 0.2;
  /**
   * The distance that the user chose with the wheel. The shown distance is shorter in front of obstacles, and
   * changes smoothly.
   */
  distance = 4.8;
  /** How far to the right of the head the camera is, in metres, so that the avatar does not hide the things ahead. */
  shoulder = 0;
  #shownDistance = 4.8;
  #shoulderM = 0;
  /** How far the camera has risen over an obstacle behind the avatar, in radians. */
  #lift = 0;
  /** Whether obstacles are close around the head, so that the camera looks through them. */
  #isEnclosed = false;
  readonly #target = new Vector3();
  readonly #arm = new Vector3();
  /** Unit vector from the head to the camera. */
  readonly #way = new Vector3();
  #settled = false;
  /** The camera that the world sets. */
  #rules: CameraRules | undefined;
  /** The page's own field of view, while the world sets another. */
  #ownFov: number | undefined;
  /** The share of the way to a fixed place that is left, and the seconds of the whole way. */
  #glideLeft = 0;
  readonly #from = new Vector3();
  readonly #fromAim = new Vector3();
  readonly #aim = new Vector3();
  /** The place on a rail, once the camera has one. */
  readonly #railPlace = new Vector3();
  #isOnRail = false;
  #shake: Shake = { strength: 0, seconds: 0 };
  #shakeLeftS = 0;
  /** The camera that is moved. */
  readonly lens: PerspectiveCamera;

  constructor(camera: PerspectiveCamera) {
    this.lens = camera;
  }

  /** The camera that the world sets, or `undefined` for the page's own. */
  get rules(): CameraRules | undefined {
    return this.#rules;
  }

  /** Sets the camera of the world. A camera that follows continues from where it is. */
  setRules(rules: CameraRules | undefined): void {
    const before = this.#rules;
    this.#rules = rules;
    if (standsApart(rules)) {
      this.#glideLeft = rules.seconds > 0 ? 1 : 0;
      this.#isOnRail = false;
      this.#from.copy(this.lens.position);
      this.lens.getWorldDirection(this.#fromAim).multiplyScalar(10).add(this.#from);
    } else if (standsApart(before)) this.jump();
    if (rules?.distance !== undefined) this.distance = rules.distance;
    this.turn(0, 0);
    this.zoom(1);
  }

  turn(yaw: number, pitch: number): void {
    const [min, max] = this.seesWithEyes ? [-EYES_PITCH_MAX, EYES_PITCH_MAX] : [PITCH_MIN, PITCH_MAX];
    this.yaw = wrapAngle(this.yaw + yaw);
    this.pitch = Math.min(max, Math.max(min, this.pitch + pitch));
  }

  zoom(factor: number): void {
    const min = this.#rules?.min ?? Math.min(DISTANCE_MIN, this.#rules?.distance ?? DISTANCE_MIN);
    const max = Math.max(min, this.#rules?.max ?? Math.max(DISTANCE_MAX, this.#rules?.distance ?? 0));
    this.distance = Math.min(max, Math.max(min, this.distance * factor));
  }

  /** Shakes the picture. Does nothing for users who prefer reduced motion. */
  shake(shake: Shake): void {
    if (globalThis.matchMedia?.("(prefers-reduced-motion: reduce)").matches === true) return;
    this.#shake = shake;
    this.#shakeLeftS = shake.seconds;
  }

  /** Whether the camera is in the head of the avatar. */
  get seesWithEyes(): boolean {
    return this.#rules?.mode === "first_person";
  }

  /** Places the camera at its target in the next frame instead of gliding there, for example after a join. */
  jump(): void {
    this.#settled = false;
  }

  /** Faces the direction of an avatar. */
  face({ quaternion }: { readonly quaternion: QuaternionLike }): void {
    this.yaw = yawOf(quaternion);
  }

  /**
   * Faces the direction in which the world placed an entity. A predicted pose of a new avatar still has the direction of
   * the previous input.
   */
  faceEntity({ quaternion: [x, y, z, w] }: Placed): void {
    this.yaw = yawOf({ x, y, z, w });
  }

  /** The distance between the camera and the avatar. An avatar that would fill the picture is not drawn. */
  get nearness(): number {
    return this.#shownDistance;
  }

  /** Follows eyes at x, y, z. `except` does not count as an obstacle. */
  follow(
    seconds: number,
    x: number,
    y: number,
    z: number,
    obstacles: Obstacles,
    except: number | undefined,
  ): void {
    this.#applyFov();
    WANTED.set(x, y, z);
    if (standsApart(this.#rules)) this.#stand(seconds, this.#rules);
    else this.#orbit(seconds, obstacles, except);
    this.#tremble(seconds);
  }

  /** Orbits the head of the avatar, or sees with its eyes. */
  #orbit(seconds: number, obstacles: Obstacles, except: number | undefined): void {
    if (!this.#settled || this.#target.distanceToSquared(WANTED) > 100) this.#target.copy(WANTED);
    // The height follows smoothly, so that steps and landings do not shake the picture. The horizontal
    // position follows at once.
    this.#target.x = WANTED.x;
    this.#target.z = WANTED.z;
    this.#target.y += (WANTED.y - this.#target.y) * ease(14, seconds);

    armDirection(this.yaw, this.pitch, this.#arm);
    if (this.seesWithEyes) {
      this.#shownDistance = 0;
      this.#settled = true;
      this.lens.position.copy(this.#target);
      this.lens.lookAt(AHEAD.copy(this.#target).sub(this.#arm));
      return;
    }
    this.#easeShoulder(seconds, obstacles, except);
    const known = this.#easeLift(seconds, obstacles, except);
    const wanted = this.#turnWay(this.pitch + this.#lift);
    let free = known ?? this.#castBehind(obstacles, except);
    if (this.#isEnclosed) free = MathUtils.lerp(Math.min(wanted, free), wanted, liftShare(this.pitch));
    const way = this.#way;
    this.#shownDistance = this.#settled
      ? nextDistance(this.#shownDistance, wanted, free, seconds)
      : Math.min(wanted, free);
    this.#settled = true;
    this.lens.position.copy(this.#target).addScaledVector(way, this.#shownDistance);
    this.lens.lookAt(AHEAD.copy(this.lens.position).sub(this.#arm));
  }

  /** Sets the way from the head to a camera that looks down by `pitch`. Returns the wanted distance. */
  #turnWay(pitch: number): number {
    const way = armDirection(this.yaw, Math.min(PITCH_MAX, pitch), this.#arm);
    this.#way.copy(way).multiplyScalar(this.distance * narrowReach(this.lens.aspect));
    this.#way.x += Math.cos(this.yaw) * this.#shoulderM;
    this.#way.z -= Math.sin(this.yaw) * this.#shoulderM;
    const wanted = this.#way.length();
    this.#way.divideScalar(wanted);
    return wanted;
  }

  /**
   * The free distance along the way to the camera. The ray begins at the head, which is never inside of an obstacle. When the
   * user looks up, the camera moves below the avatar. The ground then limits the distance, like any other obstacle.
   */
  #castBehind(obstacles: Obstacles, except: number | undefined): number {
    const { x, y, z } = this.#target;
    const distance = this.distance * narrowReach(this.lens.aspect);
    const reach = Math.max(DISTANCE_MAX, distance) + SHOULDER_M_MAX + RADIUS;
    const way = this.#way;
    return obstacles.cast(x, y, z, way.x, way.y, way.z, { margin: RADIUS, except, passesGlass: true, reach });
  }

  /**
   * Lifts the camera over an obstacle close behind the avatar, where it would otherwise be inside the avatar. If there is no room
   * over the obstacle either, the camera rises through it: the sightline opens the surfaces before the avatar. Returns the
   * free distance if a ray was cast along the new way to the camera.
   */
  #easeLift(seconds: number, obstacles: Obstacles, except: number | undefined): number | undefined {
    const share = liftShare(this.pitch);
    const pitch = Math.max(this.pitch, LIFT_PITCH_MAX);
    const cramped = Math.min(CRAMPED_M, this.#turnWay(pitch));
    let [lift, most] = [0, share > 0 ? this.#castBehind(obstacles, except) : cramped];
    for (let i = 0; i < LIFTS.length && most < cramped && pitch + (LIFTS[i - 1] ?? 0) < PITCH_MAX; i++) {
      this.#turnWay(pitch + LIFTS[i]!);
      const free = this.#castBehind(obstacles, except);
      if (free > most) [lift, most] = [LIFTS[i]!, free];
    }
    this.#isEnclosed = most < Math.min(cramped, this.#isEnclosed ? CRAMPED_M : ENCLOSED_M);
    if (this.#isEnclosed) lift = LIFTS.at(-1)!;
    lift *= share;
    this.#lift = this.#settled ? this.#lift + (lift - this.#lift) * ease(10, seconds) : lift;
    const isKnown = share === 1 && (this.#isEnclosed || Math.abs(lift - this.#lift) < 1e-3);
    return isKnown ? most : undefined;
  }

  /** Stands at a place or on a rail, or glides there, and looks at a place or at the followed entity. */
  #stand(seconds: number, { at, rail, lookAt, on, seconds: glideS }: CameraRules): void {
    this.#shownDistance = Number.POSITIVE_INFINITY;
    this.#settled = false;
    this.#aim.copy(WANTED);
    if (on === undefined && lookAt !== undefined) this.#aim.set(...lookAt);
    this.#glideLeft = glideS > 0 ? Math.max(0, this.#glideLeft - seconds / glideS) : 0;
    const share = smoothShare(1 - this.#glideLeft);
    if (at !== undefined) PLACE.set(...at);
    if (rail !== undefined) PLACE.copy(this.#runOnRail(seconds, rail));
    this.lens.position.copy(this.#from).lerp(PLACE, share);
    this.lens.lookAt(AHEAD.copy(this.#fromAim).lerp(this.#aim, share));
  }

  /** The place on a rail: as near to the followed entity as possible, and smooth over its corners. */
  #runOnRail(seconds: number, rail: readonly Vector[]): Vector3 {
    nearestOn(rail, WANTED, PLACE);
    this.#railPlace.lerp(PLACE, this.#isOnRail ? ease(6, seconds) : 1);
    this.#isOnRail = true;
    return this.#railPlace;
  }

  #applyFov(): void {
    const camera = this.lens;
    const wanted = this.#rules?.fov ?? this.#ownFov;
    if (wanted === undefined || camera.fov === wanted) {
      if (this.#rules?.fov === undefined) this.#ownFov = undefined;
      return;
    }
    // A page sets its own field of view when its window changes.
    this.#ownFov = this.#rules?.fov === undefined ? undefined : camera.fov;
    camera.fov = wanted;
    camera.updateProjectionMatrix();
  }

  /** Turns the camera by a part of the shake, which fades. */
  #tremble(seconds: number): void {
    if (this.#shakeLeftS <= 0) return;
    this.#shakeLeftS = Math.max(0, this.#shakeLeftS - seconds);
    const left = this.#shakeLeftS / Math.max(0.001, this.#shake.seconds);
    const size = this.#shake.strength * SHAKE_RADIANS * left * left;
    const moment = this.#shakeLeftS;
    this.lens.rotateX(size * Math.sin(moment * 61));
    this.lens.rotateY(size * Math.sin(moment * 47 + 1));
    this.lens.rotateZ(size * Math.sin(moment * 53 + 2));
  }

  /** Moves the camera beside the head or back, smoothly, as far as there is room at the side. */
  #easeShoulder(seconds: number, obstacles: Obstacles, except: number | undefined): void {
    let wanted = 0;
    if (this.shoulder > 0) {
      const { x, y, z } = this.#target;
      const [sideX, sideZ] = [Math.cos(this.yaw), -Math.sin(this.yaw)];
      const shoulder = Math.min(SHOULDER_M_MAX, this.shoulder);
      const reach = shoulder + RADIUS;
      wanted = Math.min(
        shoulder,
        obstacles.cast(x, y, z, sideX, 0, sideZ, { margin: RADIUS, except, reach, passesGlass: true }),
      );
    }
    this.#shoulderM = this.#settled
      ? this.#shoulderM + (wanted - this.#shoulderM) * ease(8, seconds)
      : wanted;
  }
}

/**
 * Vertical field of view in degrees for a picture of this width over height. The narrower the picture, the larger it is, so that
 * things beside the avatar stay visible.
 */
export function fovOf(aspect: number): number {
  const sideways = Math.tan(MathUtils.degToRad(SIDEWAYS_FOV_MIN) / 2);
  const wanted = MathUtils.radToDeg(2 * Math.atan(sideways / aspect));
  return Math.min(FOV_MAX, Math.max(FOV, wanted));
}

/** The factor of the camera's distance in a picture of this width over height. */
function narrowReach(aspect: number): number {
  return Math.min(NARROW_REACH_MAX, Math.max(1, aspect ** -0.4));
}

/** The share of its lift by which a camera with this pitch rises. */
function liftShare(pitch: number): number {
  return MathUtils.clamp((pitch - LIFT_PITCH_MIN) / (LIFT_PITCH_MAX - LIFT_PITCH_MIN), 0, 1);
}

/** Unit vector from the target to the camera. */
export function armDirection(yaw: number, pitch: number, out: Vector3): Vector3 {
  const flat = Math.cos(pitch);
  return out.set(Math.sin(yaw) * flat, Math.sin(pitch), Math.cos(yaw) * flat);
}

/**
 * In front of an obstacle the camera moves closer at once, because otherwise the inside of the obstacle would
 * be visible. It glides back out.
 */
export function nextDistance(shown: number, wanted: number, free: number, seconds: number): number {
  const goal = Math.min(wanted, free);
  if (goal < shown && free < shown) return Math.max(0.05, goal);
  return shown + (goal - shown) * ease(goal < shown ? 12 : 5, seconds);
}

/** Whether the camera is not where the avatar is. */
function standsApart(rules: CameraRules | undefined): rules is CameraRules {
  return rules?.mode === "fixed" || rules?.mode === "rail";
}

/** The place on a line through `rail` that is nearest to `to`. */
function nearestOn(rail: readonly Vector[], to: Vector3, out: Vector3): void {
  let nearest = Number.POSITIVE_INFINITY;
  for (let at = 1; at < rail.length; at++) {
    SEGMENT.start.set(...rail[at - 1]!);
    SEGMENT.end.set(...rail[at]!);
    SEGMENT.closestPointToPoint(to, true, POINT);
    const distance = POINT.distanceToSquared(to);
    if (distance >= nearest) continue;
    nearest = distance;
    out.copy(POINT);
  }
}

/** Eases a share of a movement, so that the movement begins and ends gently. */
function smoothShare(share: number): number {
  return share * share * (3 - 2 * share);
}

const WANTED = new Vector3();
const PLACE = new Vector3();
const AHEAD = new Vector3();
const POINT = new Vector3();
const SEGMENT = new Line3();
