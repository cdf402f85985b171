import type { Form, Part, Vector } from "nowcast/internal";
import {
  BoxGeometry,
  BufferAttribute,
  BufferGeometry,
  CapsuleGeometry,
  ConeGeometry,
  CylinderGeometry,
  Quaternion,
  SphereGeometry,
  Vector3,
} from "three";
import { ConvexGeometry } from "three/examples/jsm/geometries/ConvexGeometry.js";

/** Segments of round forms. */
const AROUND = 24;

/** The surface of a form around its own origin, as triangles with normals. */
export function createGeometry(form: Form): BufferGeometry {
  switch (form.shape) {
    case "box":
      return new BoxGeometry(...form.size);
    case "sphere":
      return new SphereGeometry(form.radius, AROUND, AROUND / 2);
    case "capsule":
      return new CapsuleGeometry(form.radius, form.height - 2 * form.radius, AROUND / 4, AROUND);
    case "cylinder":
      return new CylinderGeometry(form.radius, form.radius, form.height, AROUND);
    case "cone":
      return new ConeGeometry(form.radius, form.height, AROUND);
    case "hull":
      return withoutUv(new ConvexGeometry(form.points.map((point) => new Vector3(...point))));
    case "mesh":
      return createMesh(form.vertices, form.triangles);
    case "heights":
      return createHeights(form.heights, form.columns, form.width, form.depth);
    case "compound":
      return joined(form.parts.map(createPart));
  }
}

function createPart({ form, rotation, at }: Part): BufferGeometry {
  return createGeometry(form)
    .applyQuaternion(new Quaternion(...rotation))
    .translate(...at);
}

/** Triangles with flat shading, because meshes of authors have sharp edges. */
function createMesh(vertices: readonly Vector[], triangles: readonly number[]): BufferGeometry {
  const positions = new Float32Array(triangles.length * 3);
  for (let i = 0; i < triangles.length; i++) positions.set(vertices[triangles[i]!]!, i * 3);
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(positions, 3));
  geometry.computeVertexNormals();
  return geometry;
}

/** A height field around its middle, rows along Z. */
function createHeights(
  heights: readonly number[],
  columns: number,
  width: number,
  depth: number,
): BufferGeometry {
  const rows = heights.length / columns;
  const positions = new Float32Array(heights.length * 3);
  const uvs = new Float32Array(heights.length * 2);
  const indices: number[] = [];
  heights.forEach((height, i) => {
    const [row, column] = [Math.floor(i / columns), i % columns];
    uvs.set([column / (columns - 1), 1 - row / (rows - 1)], i * 2);
    positions.set([(column / (columns - 1) - 0.5) * width, height, (row / (rows - 1) - 0.5) * depth], i * 3);
    if (row === rows - 1 || column === columns - 1) return;
    indices.push(i, i + columns, i + 1, i + 1, i + columns, i + columns + 1);
  });
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(positions, 3));
  geometry.setAttribute("uv", new BufferAttribute(uvs, 2));
  geometry.setIndex(indices);
  geometry.computeVertexNormals();
  return geometry;
}

/** Whether a texture can be mapped to the surface of a form; other forms have no mapping. */
export function takesTexture({ shape }: Form): boolean {
  return shape !== "hull" && shape !== "mesh" && shape !== "compound";
}

function joined(parts: readonly BufferGeometry[]): BufferGeometry {
  const flat = parts.map((part) => withoutUv(part.index ? part.toNonIndexed() : part));
  const count = flat.reduce((sum, part) => sum + part.getAttribute("position").count, 0);
  const positions = new Float32Array(count * 3);
  const normals = new Float32Array(count * 3);
  let at = 0;
  for (const part of flat) {
    positions.set(part.getAttribute("position").array, at);
    normals.set(part.getAttribute("normal").array, at);
    at += part.getAttribute("position").array.length;
    part.dispose();
  }
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(positions, 3));
  geometry.setAttribute("normal", new BufferAttribute(normals, 3));
  return geometry;
}

function withoutUv(geometry: BufferGeometry): BufferGeometry {
  return geometry.deleteAttribute("uv");
}
