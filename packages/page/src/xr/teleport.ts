import type { Obstacles, Pose } from "@nowcast/three/internal";
import {
  BufferAttribute,
  BufferGeometry,
  Group,
  Line,
  LineBasicMaterial,
  Mesh,
  MeshBasicMaterial,
  RingGeometry,
  Vector3,
} from "three";

const SPEED_MPS = 7;
const GRAVITY = 9.81;
const STEP_S = 0.04;
const STEPS = 44;
/** Maximum height difference between the end of the arc and the ground on which the player lands. */
const GROUND_M = 0.6;
/** Free space that a body needs at its sides. */
const BODY_M = 0.3;
const GOOD = 0x6fe0a8;
const BAD = 0xe07a6f;

/** The end of an arc. */
export interface Landing {
  readonly x: number;
  /** Height of the ground. */
  readonly y: number;
  readonly z: number;
}

/**
 * Computes the points of an arc from a hand to the hit (x, y, z each), their number, and the place to stand.
 */
export function traceArc(
  from: Pose,
  obstacles: Pick<Obstacles, "cast">,
  except: number | undefined,
  points: Float32Array,
): { readonly count: number; readonly landing: Landing | undefined } {
  VELOCITY.set(0, 0, -SPEED_MPS).applyQuaternion(from.quaternion);
  POINT.copy(from.position);
  POINT.toArray(points, 0);
  for (let i = 1; i < STEPS; i++) {
    WAY.copy(VELOCITY).multiplyScalar(STEP_S);
    const metres = WAY.length();
    WAY.normalize();
    const hit = obstacles.cast(POINT.x, POINT.y, POINT.z, WAY.x, WAY.y, WAY.z, { except, reach: metres });
    const isHit = hit <= metres;
    POINT.addScaledVector(WAY, isHit ? hit : metres);
    POINT.toArray(points, i * 3);
    if (isHit)
      return { count: i + 1, landing: groundAt(POINT.addScaledVector(WAY, -0.02), obstacles, except) };
    VELOCITY.y -= GRAVITY * STEP_S;
  }
  return { count: STEPS, landing: undefined };
}

/** The ground under a place with room for a body; `undefined` next to a wall or a drop. */
function groundAt(
  place: Vector3,
  obstacles: Pick<Obstacles, "cast">,
  except: number | undefined,
): Landing | undefined {
  const { x, y, z } = place;
  const down = obstacles.cast(x, y + GROUND_M, z, 0, -1, 0, { except, reach: 2 * GROUND_M });
  if (!Number.isFinite(down)) return undefined;
  const ground = y + GROUND_M - down;
  for (const [dx, dz] of [
    [1, 0],
    [-1, 0],
    [0, 1],
    [0, -1],
  ] as const) {
    if (obstacles.cast(x, ground + 0.9, z, dx, 0, dz, { except, reach: BODY_M }) < BODY_M) return undefined;
  }
  return { x, y: ground, z };
}

/** The arc from a hand, and a ring at the place to stand. */
export class TeleportArc {
  readonly group = new Group();
  landing: Landing | undefined;
  readonly #points = new Float32Array(STEPS * 3);
  readonly #geometry = new BufferGeometry();
  readonly #line: Line;
  readonly #ring: Mesh<RingGeometry, MeshBasicMaterial>;
  readonly #material = new LineBasicMaterial({ fog: false, toneMapped: false });

  constructor() {
    this.#geometry.setAttribute("position", new BufferAttribute(this.#points, 3));
    this.#line = new Line(this.#geometry, this.#material);
    this.#line.frustumCulled = false;
    const flat = new MeshBasicMaterial({
      color: GOOD,
      fog: false,
      toneMapped: false,
      transparent: true,
      opacity: 0.8,
    });
    this.#ring = new Mesh(new RingGeometry(0.24, 0.32, 32).rotateX(-Math.PI / 2), flat);
    this.group.add(this.#line, this.#ring);
    this.group.visible = false;
  }

  aim(from: Pose, obstacles: Obstacles, except: number | undefined): void {
    const { count, landing } = traceArc(from, obstacles, except, this.#points);
    this.landing = landing;
    this.#geometry.setDrawRange(0, count);
    this.#geometry.getAttribute("position").needsUpdate = true;
    this.#material.color.setHex(landing ? GOOD : BAD);
    this.#ring.visible = landing !== undefined;
    if (landing) this.#ring.position.set(landing.x, landing.y + 0.02, landing.z);
    this.group.visible = true;
  }

  hide(): void {
    this.group.visible = false;
    this.landing = undefined;
  }

  dispose(): void {
    this.#geometry.dispose();
    this.#material.dispose();
    this.#ring.geometry.dispose();
    this.#ring.material.dispose();
    this.group.removeFromParent();
  }
}

/** The body has arrived if it is nearer than this, in metres. */
const ARRIVED_M = 0.3;
const DASH_MS_MAX = 2500;
/** If a walker comes no nearer for this time, an obstacle blocks it. */
const STUCK_MS = 350;
const PROGRESS_M = 0.05;

/**
 * The way to the end of an arc. The body walks along it, because only the server moves a body. The picture is
 * dark meanwhile, to avoid motion sickness.
 */
export class Dash {
  #goal: Landing | undefined;
  #beganMs = 0;
  #nearestM = 0;
  #nearerMs = 0;

  get isOn(): boolean {
    return this.#goal !== undefined;
  }

  begin(goal: Landing, nowMs: number): void {
    this.#goal = goal;
    this.#beganMs = this.#nearerMs = nowMs;
    this.#nearestM = Number.POSITIVE_INFINITY;
  }

  end(): void {
    this.#goal = undefined;
  }

  /** The input of a body at x, z that faces `yaw`; `undefined` once it has arrived or is blocked. */
  steer(
    x: number,
    z: number,
    yaw: number,
    nowMs: number,
  ): { readonly forward: number; readonly right: number } | undefined {
    if (!this.#goal) return undefined;
    const [dx, dz] = [this.#goal.x - x, this.#goal.z - z];
    const metres = Math.hypot(dx, dz);
    if (metres < this.#nearestM - PROGRESS_M) [this.#nearestM, this.#nearerMs] = [metres, nowMs];
    if (metres < ARRIVED_M || nowMs - this.#beganMs > DASH_MS_MAX || nowMs - this.#nearerMs > STUCK_MS) {
      this.#goal = undefined;
      return undefined;
    }
    const share = Math.min(1, metres / 0.8) / metres;
    const [sin, cos] = [Math.sin(yaw), Math.cos(yaw)];
    return { forward: (-dx * sin - dz * cos) * share, right: (dx * cos - dz * sin) * share };
  }
}

const VELOCITY = new Vector3();
const POINT = new Vector3();
const WAY = new Vector3();
