import { ease, type Obstacles, wrapAngle, yawOf } from "@nowcast/three";
import { type PerspectiveCamera, Vector3 } from "three";

const PITCH_MIN = -0.5;
const PITCH_MAX = 1.35;
const DISTANCE_MIN = 1.6;
const DISTANCE_MAX = 16;
/** The camera collides as a sphere of this radius, so that the near plane cuts no object. */
const RADIUS = 0.22;
/** Distance to the right of a carrier's head, so that the carried thing does not fill the picture, in metres. */
const SHOULDER_M = 0.8;

/** An entity with the rotation that the world gave to it: a quaternion in the order x, y, z, w. */
export interface Placed {
  readonly rotation: readonly [number, number, number, number];
}

/**
 * Orbits the head of an avatar. `yaw` is the direction in which the avatar walks forward: 0 faces −Z and grows
 * counter-clockwise seen from above. `pitch` is the downward angle of the camera.
 */
export class OrbitCamera {
  yaw = 0;
  pitch = 0.34;
  /**
   * The distance that the user chose with the wheel. The shown distance is shorter in front of obstacles, and
   * changes smoothly.
   */
  distance = 6;
  /** Whether the camera looks over the right shoulder, for example while the avatar carries a thing. */
  isOverShoulder = false;
  #shownDistance = 6;
  #shoulderM = 0;
  readonly #target = new Vector3();
  readonly #arm = new Vector3();
  /** Unit vector from the head to the camera. */
  readonly #way = new Vector3();
  #settled = false;
  readonly #camera: PerspectiveCamera;

  constructor(camera: PerspectiveCamera) {
    this.#camera = camera;
  }

  turn(yaw: number, pitch: number): void {
    this.yaw = wrapAngle(this.yaw + yaw);
    this.pitch = Math.min(PITCH_MAX, Math.max(PITCH_MIN, this.pitch + pitch));
  }

  zoom(factor: number): void {
    this.distance = Math.min(DISTANCE_MAX, Math.max(DISTANCE_MIN, this.distance * factor));
  }

  /** Places the camera at its target in the next frame instead of gliding there, for example after a join. */
  jump(): void {
    this.#settled = false;
  }

  /** Faces the direction of an avatar. */
  face(pose: { qx: number; qy: number; qz: number; qw: number }): void {
    this.yaw = yawOf(pose);
  }

  /**
   * Faces the direction in which the world placed an entity. A predicted pose of a new avatar still has the direction of
   * the previous input.
   */
  faceEntity({ rotation: [qx, qy, qz, qw] }: Placed): void {
    this.face({ qx, qy, qz, qw });
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
    WANTED.set(x, y, z);
    if (!this.#settled || this.#target.distanceToSquared(WANTED) > 100) this.#target.copy(WANTED);
    // The height follows smoothly, so that steps and landings do not shake the picture. The horizontal
    // position follows at once.
    this.#target.x = WANTED.x;
    this.#target.z = WANTED.z;
    this.#target.y += (WANTED.y - this.#target.y) * ease(14, seconds);

    armDirection(this.yaw, this.pitch, this.#arm);
    this.#easeShoulder(seconds, obstacles, except);
    const { x: headX, y: headY, z: headZ } = this.#target;
    const way = this.#way.copy(this.#arm).multiplyScalar(this.distance);
    way.x += Math.cos(this.yaw) * this.#shoulderM;
    way.z -= Math.sin(this.yaw) * this.#shoulderM;
    const wanted = way.length();
    way.divideScalar(wanted);
    // The ray begins at the head, which is never inside of an obstacle. When the user looks up, the camera moves below the
    // avatar. The ground then limits the distance, like any other obstacle.
    const free = obstacles.cast(headX, headY, headZ, way.x, way.y, way.z, {
      margin: RADIUS,
      except,
      reach: DISTANCE_MAX + SHOULDER_M + RADIUS,
    });
    this.#shownDistance = this.#settled
      ? nextDistance(this.#shownDistance, wanted, free, seconds)
      : Math.min(wanted, free);
    this.#settled = true;
    this.#camera.position.copy(this.#target).addScaledVector(way, this.#shownDistance);
    this.#camera.lookAt(AHEAD.copy(this.#camera.position).sub(this.#arm));
  }

  /** Moves the camera beside the head or back, smoothly, as far as there is room at the side. */
  #easeShoulder(seconds: number, obstacles: Obstacles, except: number | undefined): void {
    let wanted = 0;
    if (this.isOverShoulder) {
      const { x, y, z } = this.#target;
      const [sideX, sideZ] = [Math.cos(this.yaw), -Math.sin(this.yaw)];
      const reach = SHOULDER_M + RADIUS;
      wanted = Math.min(
        SHOULDER_M,
        obstacles.cast(x, y, z, sideX, 0, sideZ, { margin: RADIUS, except, reach }),
      );
    }
    this.#shoulderM = this.#settled
      ? this.#shoulderM + (wanted - this.#shoulderM) * ease(8, seconds)
      : wanted;
  }
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

const WANTED = new Vector3();
const AHEAD = new Vector3();
