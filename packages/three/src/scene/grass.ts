import {
  BufferAttribute,
  BufferGeometry,
  Color,
  InstancedMesh,
  Matrix4,
  MeshLambertMaterial,
  Quaternion,
  Vector3,
} from "three";
import type { RayBox } from "./ray.js";

const BLADES = 6;
const TUFTS_PER_SQUARE_METRE = 8;
/** The number for a lawn of 70 m by 70 m. Larger lawns are thinner. */
const TUFTS_MAX = 40_000;
const FLOWERS = 0.016;

/**
 * Tufts of grass, with some flowers, on a lawn, for fast machines. No grass grows under entities.
 */
export function createGrass(ground: RayBox, color: number, obstacles: readonly RayBox[]): InstancedMesh {
  const count = Math.min(TUFTS_MAX, Math.round(4 * ground.halfX * ground.halfZ * TUFTS_PER_SQUARE_METRE));
  const material = new MeshLambertMaterial({ vertexColors: true });
  const mesh = new InstancedMesh(createTuft(), material, count);
  const random = createRandom(7);
  const top = ground.position.y + ground.halfY;
  const standing = obstacles.filter(
    ({ position, halfY }) => position.y + halfY > top + 0.001 && position.y - halfY < top + 0.5,
  );
  let placed = 0;
  for (let i = 0; i < count; i++) {
    const x = ground.position.x + (random() * 2 - 1) * (ground.halfX - 0.3);
    const z = ground.position.z + (random() * 2 - 1) * (ground.halfZ - 0.3);
    // Grass grows in patches: there is none where the sum of two slow waves is low.
    const growth = Math.sin(x * 0.31 + 1) * Math.sin(z * 0.27) + Math.sin(x * 0.11 - z * 0.17 + 2);
    const [lot, turn, size, tone] = [random(), random() * 6.28, random(), random()];
    if (lot > 0.3 + 0.4 * growth) continue;
    if (standing.some((box) => covers(box, x, z))) continue;
    POSITION.set(x, top, z);
    ROTATION.setFromAxisAngle(UP, turn);
    SCALE.set(0.8 + 0.7 * size, 0.6 + 0.7 * size, 0.8 + 0.7 * size);
    mesh.setMatrixAt(placed, MATRIX.compose(POSITION, ROTATION, SCALE));
    TINT.set(color).offsetHSL((tone - 0.5) * 0.04, 0.03, (tone - 0.45) * 0.09);
    if (lot < FLOWERS * (0.5 + growth)) TINT.set(tone < 0.5 ? "#f4efe0" : "#f0c75e");
    mesh.setColorAt(placed, TINT);
    placed++;
  }
  mesh.count = placed;
  mesh.receiveShadow = true;
  mesh.renderOrder = 1;
  return mesh;
}

/**
 * A tuft: blades that fan out from a point, dark at the foot. Their normals point up, so that they are lit
 * like the lawn.
 */
function createTuft(): BufferGeometry {
  const positions = new Float32Array(BLADES * 9);
  const normals = new Float32Array(BLADES * 9);
  const colors = new Float32Array(BLADES * 9);
  for (let blade = 0; blade < BLADES; blade++) {
    const angle = (blade / BLADES) * Math.PI * 2 + (blade % 2) * 0.5;
    const out = 0.045 + 0.03 * (blade % 3);
    const height = 0.07 + 0.028 * ((blade * 2) % 3);
    const [x, z] = [Math.cos(angle), Math.sin(angle)];
    positions.set([-z * 0.011, 0, x * 0.011, z * 0.011, 0, -x * 0.011, x * out, height, z * out], blade * 9);
    normals.set([0, 1, 0, 0, 1, 0, 0, 1, 0], blade * 9);
    colors.set([0.86, 0.88, 0.82, 0.86, 0.88, 0.82, 1.16, 1.17, 1.02], blade * 9);
  }
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(positions, 3));
  geometry.setAttribute("normal", new BufferAttribute(normals, 3));
  geometry.setAttribute("color", new BufferAttribute(colors, 3));
  // Both sides are drawn as front faces. The normal of a back face would be inverted, and the face would be
  // dark.
  const fronts = Array.from({ length: BLADES * 3 }, (_, i) => i);
  geometry.setIndex([...fronts, ...[...fronts].reverse()]);
  return geometry;
}

/** Whether an entity covers a place. A turned entity is approximated by its bounding circle. */
function covers(box: RayBox, x: number, z: number): boolean {
  const { position, quaternion } = box;
  const dx = Math.abs(x - position.x);
  const dz = Math.abs(z - position.z);
  const upright = Math.abs(quaternion.x) + Math.abs(quaternion.y) + Math.abs(quaternion.z) < 1e-3;
  if (upright) return dx < box.halfX && dz < box.halfZ;
  return Math.hypot(dx, dz) < Math.hypot(box.halfX, box.halfZ);
}

/**
 * A linear congruential generator, which is good enough for grass. It gives the same meadow on every visit.
 */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
}

const UP = new Vector3(0, 1, 0);
const POSITION = new Vector3();
const ROTATION = new Quaternion();
const SCALE = new Vector3();
const MATRIX = new Matrix4();
const TINT = new Color();
