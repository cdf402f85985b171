import {
  BufferAttribute,
  BufferGeometry,
  Color,
  DoubleSide,
  DynamicDrawUsage,
  Group,
  Mesh,
  MeshBasicMaterial,
  Vector3,
} from "three";
import type { Prop } from "./prop.js";

/** Trails that are drawn at once. */
export const TRAILS_MAX = 32;
/** Places that a trail remembers. */
const POINTS = 24;
/** Half a trail's width, as a share of its prop's smaller half length. */
const WIDTH = 0.6;

interface Trail {
  readonly prop: Prop;
  readonly seconds: number;
  readonly mesh: Mesh<BufferGeometry, MeshBasicMaterial>;
  readonly places: Float32Array;
  /** Number of valid places, the newest first. */
  count: number;
  sinceS: number;
}

/** Ribbons behind props that move: the field `trail` of a look, in seconds. */
export class Trails {
  readonly group = new Group();
  readonly #trails = new Map<number, Trail>();

  get size(): number {
    return this.#trails.size;
  }

  /** Draws the trail of a prop, if it has one. Further trails than {@link TRAILS_MAX} are not drawn. */
  add(prop: Prop): void {
    const seconds = prop.body.appearance?.trail ?? 0;
    if (seconds <= 0 || this.#trails.size >= TRAILS_MAX) return;
    const geometry = new BufferGeometry();
    const dynamic = (size: number): BufferAttribute => {
      const attribute = new BufferAttribute(new Float32Array(2 * POINTS * size), size);
      attribute.setUsage(DynamicDrawUsage);
      return attribute;
    };
    geometry.setAttribute("position", dynamic(3));
    geometry.setAttribute("color", dynamic(4));
    geometry.setIndex(INDEX);
    const material = new MeshBasicMaterial({
      vertexColors: true,
      transparent: true,
      depthWrite: false,
      side: DoubleSide,
    });
    const mesh = new Mesh(geometry, material);
    mesh.frustumCulled = false;
    this.group.add(mesh);
    const places = new Float32Array(3 * POINTS);
    this.#trails.set(prop.id, { prop, seconds, mesh, places, count: 0, sinceS: 0 });
  }

  remove(id: number): void {
    const trail = this.#trails.get(id);
    if (trail === undefined) return;
    this.#trails.delete(id);
    this.group.remove(trail.mesh);
    trail.mesh.geometry.dispose();
    trail.mesh.material.dispose();
  }

  /** Begins a trail again, because its prop jumped. */
  restart(id: number): void {
    const trail = this.#trails.get(id);
    if (trail) trail.count = 0;
  }

  clear(): void {
    for (const id of [...this.#trails.keys()]) this.remove(id);
  }

  /** Continues the trails by a frame. Ribbons face the point `eye`. */
  update(seconds: number, eye: Vector3 | undefined): void {
    for (const trail of this.#trails.values()) {
      follow(trail, seconds);
      draw(trail, eye ?? ABOVE);
    }
  }
}

/** Remembers the place of the prop, at equal intervals. */
function follow(trail: Trail, seconds: number): void {
  const { prop, places } = trail;
  trail.sinceS += seconds;
  const intervalS = trail.seconds / (POINTS - 1);
  if (trail.count === 0 || trail.sinceS >= intervalS) {
    trail.sinceS = trail.count === 0 ? 0 : trail.sinceS % intervalS;
    places.copyWithin(3, 0, 3 * (POINTS - 1));
    trail.count = Math.min(POINTS, trail.count + 1);
    // The first place is always the current position, so the second place is a copy of it at the beginning.
    if (trail.count === 1) trail.count = 2;
    prop.position.toArray(places, 3);
  }
  prop.position.toArray(places);
}

function draw({ prop, mesh, places, count }: Trail, eye: Vector3): void {
  const position = mesh.geometry.getAttribute("position") as BufferAttribute;
  const color = mesh.geometry.getAttribute("color") as BufferAttribute;
  COLOR.setHex(prop.color);
  const half = WIDTH * Math.min(prop.halfX, prop.halfY, prop.halfZ);
  for (let at = 0; at < POINTS; at++) {
    const shown = Math.min(at, count - 1);
    const next = Math.min(shown + 1, count - 1);
    const previous = Math.max(shown - 1, 0);
    PLACE.fromArray(places, 3 * shown);
    WAY.fromArray(places, 3 * previous).sub(NEXT.fromArray(places, 3 * next));
    const left = 1 - at / (POINTS - 1);
    SIDE.copy(eye).sub(PLACE).cross(WAY);
    const length = SIDE.length();
    // A prop that stands still has no trail.
    SIDE.multiplyScalar(length > 1e-6 ? (half * left) / length : 0);
    position.setXYZ(2 * at, PLACE.x + SIDE.x, PLACE.y + SIDE.y, PLACE.z + SIDE.z);
    position.setXYZ(2 * at + 1, PLACE.x - SIDE.x, PLACE.y - SIDE.y, PLACE.z - SIDE.z);
    color.setXYZW(2 * at, COLOR.r, COLOR.g, COLOR.b, 0.6 * left);
    color.setXYZW(2 * at + 1, COLOR.r, COLOR.g, COLOR.b, 0.6 * left);
  }
  position.needsUpdate = true;
  color.needsUpdate = true;
}

const INDEX = Array.from({ length: POINTS - 1 }, (_, at) => [
  2 * at,
  2 * at + 1,
  2 * at + 2,
  2 * at + 2,
  2 * at + 1,
  2 * at + 3,
]).flat();
const ABOVE = new Vector3(0, 1_000, 0);
const COLOR = new Color();
const PLACE = new Vector3();
const NEXT = new Vector3();
const WAY = new Vector3();
const SIDE = new Vector3();
