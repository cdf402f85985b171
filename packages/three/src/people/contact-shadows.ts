import {
  BufferAttribute,
  BufferGeometry,
  DynamicDrawUsage,
  InstancedMesh,
  Matrix4,
  MeshBasicMaterial,
} from "three";

const SEGMENTS = 18;
/** Radius and opacity of the rings of a disc, from its middle. */
const RINGS = [
  [0.14, 0.5],
  [0.27, 0.26],
  [0.42, 0],
] as const;
/** Height of a disc above the ground, in metres. */
const ABOVE_M = 0.025;

/** A soft dark disc under the feet of each person: the part of the sky's light that the body takes. One draw for all. */
export class ContactShadows {
  mesh = discs(1);

  /** Makes room for people. The caller replaces the mesh in its group. */
  reserve(capacity: number): void {
    const { geometry, material } = this.mesh;
    this.mesh.dispose();
    this.mesh = discs(capacity, geometry, material);
  }

  /** Places a disc at the feet, with the share of its size. */
  set(index: number, x: number, y: number, z: number, size: number): void {
    MATRIX.makeScale(size, 1, size).setPosition(x, y + ABOVE_M, z);
    this.mesh.setMatrixAt(index, MATRIX);
  }

  dispose(): void {
    this.mesh.dispose();
    this.mesh.geometry.dispose();
    this.mesh.material.dispose();
  }
}

type Discs = InstancedMesh<BufferGeometry, MeshBasicMaterial>;

function discs(capacity: number, geometry = createDisc(), material = createMaterial()): Discs {
  const mesh = new InstancedMesh(geometry, material, capacity);
  mesh.instanceMatrix.setUsage(DynamicDrawUsage);
  mesh.frustumCulled = false;
  // The ground is drawn late, and the discs lie on it.
  mesh.renderOrder = 2;
  return mesh;
}

function createMaterial(): MeshBasicMaterial {
  return new MeshBasicMaterial({
    vertexColors: true,
    transparent: true,
    depthWrite: false,
    polygonOffset: true,
    polygonOffsetFactor: -2,
    polygonOffsetUnits: -2,
  });
}

function createDisc(): BufferGeometry {
  const [inner] = RINGS;
  const positions = [0, 0, 0];
  const colors = [0, 0, 0, inner[1]];
  const triangles: number[] = [];
  for (const [ring, [radius, opacity]] of RINGS.entries()) {
    const first = 1 + ring * SEGMENTS;
    for (let at = 0; at < SEGMENTS; at++) {
      const angle = (at / SEGMENTS) * 2 * Math.PI;
      positions.push(Math.cos(angle) * radius, 0, Math.sin(angle) * radius);
      colors.push(0, 0, 0, opacity);
      const next = (at + 1) % SEGMENTS;
      const [a, b] = [first + at, first + next];
      if (ring === 0) triangles.push(0, b, a);
      else triangles.push(a - SEGMENTS, b - SEGMENTS, b, a - SEGMENTS, b, a);
    }
  }
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(new Float32Array(positions), 3));
  geometry.setAttribute("color", new BufferAttribute(new Float32Array(colors), 4));
  geometry.setIndex(triangles);
  return geometry;
}

const MATRIX = new Matrix4();
