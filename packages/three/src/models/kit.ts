/** The kit: models that are drawn without files, such as `@nowcast/kit/tree`. */

import {
  BoxGeometry,
  BufferAttribute,
  BufferGeometry,
  Color,
  ConeGeometry,
  CylinderGeometry,
  Group,
  IcosahedronGeometry,
  LatheGeometry,
  type Material,
  Mesh,
  MeshBasicMaterial,
  MeshLambertMaterial,
  Vector2,
} from "three";
import { mergeGeometries } from "three/examples/jsm/utils/BufferGeometryUtils.js";
import type { Model } from "./load-model.js";

const BARK = "#7d5c42";
const LEAF = "#76a052";
const LEAF_LIGHT = "#8db45e";
const LEAF_DARK = "#628b4c";
const NEEDLE = "#557f5c";
const STONE = "#a29d92";
const WOOD = "#b0834f";
const WOOD_DARK = "#8a6340";
const IRON = "#454d5a";
const CREAM = "#efe6d2";
const CORAL = "#d9694a";
const LIGHT = "#ffe3a6";

/** Builds the parts of each model. The feet are at Y = 0, and the front is -Z. */
const PARTS: Readonly<Record<string, () => BufferGeometry[]>> = {
  tree: () => [
    paint(new CylinderGeometry(0.13, 0.23, 1.7, 7).translate(0, 0.85, 0), BARK),
    paint(new CylinderGeometry(0.05, 0.09, 0.8, 5).rotateZ(-0.8).translate(0.34, 1.6, 0.12), BARK),
    paint(boulder(1.05, 1).translate(0, 2.4, 0), LEAF, 0.66),
    paint(boulder(0.72, 2).translate(0.72, 2.02, 0.22), LEAF_DARK, 0.66),
    paint(boulder(0.68, 3).translate(-0.62, 2.2, -0.34), LEAF_DARK, 0.66),
    paint(boulder(0.66, 4).translate(0.08, 3.14, -0.05), LEAF_LIGHT, 0.8),
  ],
  pine: () => [
    paint(new CylinderGeometry(0.12, 0.2, 1, 7).translate(0, 0.5, 0), BARK),
    ...[0, 1, 2, 3].map((tier) => {
      const cone = new ConeGeometry(1.18 - tier * 0.24, 1.5 - tier * 0.12, 9, 1).rotateY(tier * 0.7);
      return paint(cone.translate(0, 1.35 + tier * 0.78, 0), tier % 2 === 0 ? NEEDLE : "#5f8a62", 0.62);
    }),
  ],
  bush: () => [
    paint(boulder(0.55, 5).scale(1, 0.86, 1).translate(0, 0.4, 0), LEAF, 0.6),
    paint(boulder(0.4, 6).translate(0.5, 0.3, 0.16), LEAF_DARK, 0.6),
    paint(boulder(0.36, 7).translate(-0.46, 0.28, -0.14), LEAF_LIGHT, 0.6),
  ],
  rock: () => [
    paint(boulder(0.75, 8, 0.5).scale(1.1, 0.72, 0.95).translate(0, 0.32, 0), STONE, 0.66),
    paint(boulder(0.34, 9, 0.5).scale(1, 0.8, 1).translate(0.72, 0.14, 0.3), "#8f8b82", 0.66),
  ],
  fence: () => [
    ...[-0.85, 0.85].map((x) => paint(new BoxGeometry(0.14, 1, 0.14).translate(x, 0.5, 0), WOOD_DARK)),
    ...[0.42, 0.8].map((y) => paint(new BoxGeometry(2, 0.13, 0.07).translate(0, y, 0), WOOD, 0.94)),
  ],
  lamp: () => [
    paint(new CylinderGeometry(0.2, 0.26, 0.2, 8).translate(0, 0.1, 0), IRON),
    paint(new CylinderGeometry(0.055, 0.08, 2.5, 7).translate(0, 1.3, 0), IRON),
    paint(new CylinderGeometry(0.12, 0.07, 0.1, 6).translate(0, 2.55, 0), IRON),
    paint(new ConeGeometry(0.27, 0.2, 6).translate(0, 3.0, 0), IRON),
  ],
  bench: () => [
    ...[-0.62, 0.62].flatMap((x) => [
      paint(new BoxGeometry(0.08, 0.42, 0.44).translate(x, 0.21, 0), IRON),
      paint(new BoxGeometry(0.08, 0.5, 0.08).translate(x, 0.64, 0.2), IRON),
    ]),
    ...[-0.16, 0, 0.16].map((z) => paint(new BoxGeometry(1.7, 0.06, 0.13).translate(0, 0.45, z), WOOD, 0.95)),
    ...[0.62, 0.8].map((y) => paint(new BoxGeometry(1.7, 0.13, 0.05).translate(0, y, 0.17), WOOD, 0.95)),
  ],
  crate: () => [
    paint(new BoxGeometry(0.92, 0.92, 0.92).translate(0, 0.5, 0), WOOD, 0.7),
    ...edgesOfCube().map((edge) => paint(edge, WOOD_DARK, 0.85)),
    ...[-1, 1].map((side) => {
      const plank = new BoxGeometry(0.11, 1.16, 0.05).rotateZ(side * 0.785);
      return paint(plank.translate(0, 0.5, side * 0.475), WOOD_DARK, 0.85);
    }),
  ],
  barrel: () => [
    paint(
      turned([0.34, 0], [0.4, 0.28], [0.43, 0.55], [0.4, 0.82], [0.34, 1.08], [0.3, 1.08], [0, 1.03]),
      WOOD,
      0.74,
    ),
    ...[0.2, 0.9].map((y) =>
      paint(new CylinderGeometry(0.405, 0.405, 0.09, 12, 1, true).translate(0, y, 0), IRON),
    ),
  ],
  sign: () => [
    paint(new BoxGeometry(0.13, 1.6, 0.13).translate(0, 0.8, 0.06), WOOD_DARK),
    paint(new BoxGeometry(1.24, 0.72, 0.08).translate(0, 1.28, -0.02), WOOD_DARK, 0.9),
    paint(new BoxGeometry(1.1, 0.58, 0.04).translate(0, 1.28, -0.06), CREAM, 0.95),
  ],
  boat: () => [
    paint(shell("outer"), CORAL, 0.6),
    paint(shell("inner"), CREAM, 0.6),
    ...[-0.5, 0.62].map((z) => paint(new BoxGeometry(1.06, 0.07, 0.3).translate(0, 0.42, z), WOOD, 0.95)),
  ],
};

/** Parts that shine by themselves. */
const LIGHTS: Readonly<Record<string, () => BufferGeometry>> = {
  lamp: () => new CylinderGeometry(0.18, 0.13, 0.32, 6).translate(0, 2.76, 0),
};

/** Makes the model with this name, such as `tree`. Throws if the kit has no such model. */
export function createKitModel(name: string): Model {
  const parts = Object.hasOwn(PARTS, name) ? PARTS[name]?.() : undefined;
  if (!parts) throw new Error(`the kit has no such model; it has ${Object.keys(PARTS).join(", ")}`);
  const body = mergeGeometries(parts);
  body.computeBoundingBox();
  // The origin is the middle of the height, because that of a body is its middle.
  const down = -body.boundingBox!.max.y / 2;
  const root = new Group();
  root.add(shadowed(new Mesh(body.translate(0, down, 0), new MeshLambertMaterial({ vertexColors: true }))));
  const light = LIGHTS[name]?.();
  if (light) root.add(new Mesh(light.translate(0, down, 0), new MeshBasicMaterial({ color: LIGHT })));
  const dispose = (): void => {
    for (const { geometry, material } of root.children as Mesh<BufferGeometry, Material>[]) {
      geometry.dispose();
      material.dispose();
    }
  };
  return { root, clips: [], isStill: true, dispose };
}

function shadowed(mesh: Mesh): Mesh {
  mesh.castShadow = mesh.receiveShadow = true;
  return mesh;
}

/**
 * Gives a part flat faces and its colour. The lower end sees less of the sky, so it is darker by the factor `foot`. Each face
 * has a tone of its own.
 */
function paint(part: BufferGeometry, color: string, foot = 0.78): BufferGeometry {
  const geometry = part.index ? part.toNonIndexed() : part;
  geometry.computeVertexNormals();
  geometry.deleteAttribute("uv");
  geometry.computeBoundingBox();
  const { min, max } = geometry.boundingBox!;
  const place = geometry.getAttribute("position");
  const colors = new Float32Array(place.count * 3);
  const base = new Color(color);
  for (let at = 0; at < place.count; at++) {
    const share = (place.getY(at) - min.y) / Math.max(1e-6, max.y - min.y);
    const tone = 1 + 0.1 * (scatter(Math.floor(at / 3)) - 0.5);
    TINT.copy(base).multiplyScalar((foot + (1.04 - foot) * share) * tone);
    TINT.toArray(colors, at * 3);
  }
  geometry.setAttribute("color", new BufferAttribute(colors, 3));
  return geometry;
}

/** A ball of triangles whose corners are pushed in and out. Equal seeds give equal boulders. */
function boulder(radius: number, seed: number, roughness = 0.26): BufferGeometry {
  const geometry = new IcosahedronGeometry(radius, 1);
  const place = geometry.getAttribute("position");
  for (let at = 0; at < place.count; at++) {
    const [x, y, z] = [place.getX(at), place.getY(at), place.getZ(at)];
    // Corners at one place move together, so the surface stays closed.
    const corner = Math.round(x * 97) + Math.round(y * 89) * 31 + Math.round(z * 83) * 57 + seed * 7919;
    const factor = 1 + roughness * (scatter(corner) - 0.5);
    place.setXYZ(at, x * factor, y * factor, z * factor);
  }
  return geometry;
}

/** A body of rotation through points of radius and height. */
function turned(...points: readonly [number, number][]): BufferGeometry {
  return new LatheGeometry(
    points.map(([radius, y]) => new Vector2(radius, y)),
    12,
  );
}

/** The twelve beams along the edges of a cube of one metre. */
function edgesOfCube(): BufferGeometry[] {
  const edges: BufferGeometry[] = [];
  for (const a of [-0.45, 0.45]) {
    for (const b of [-0.45, 0.45]) {
      edges.push(new BoxGeometry(1, 0.1, 0.1).translate(0, a + 0.5, b));
      edges.push(new BoxGeometry(0.1, 1, 0.1).translate(a, 0.5, b));
      edges.push(new BoxGeometry(0.1, 0.1, 1).translate(a, b + 0.5, 0));
    }
  }
  return edges;
}

/** Place along a rowing boat, half its breadth, and the heights of its keel and of its edge, from the stern to the bow. */
const STATIONS = [
  [1.6, 0.46, 0.12, 0.62],
  [0.8, 0.62, 0.02, 0.56],
  [-0.2, 0.64, 0, 0.55],
  [-1.1, 0.42, 0.08, 0.64],
  [-1.8, 0.02, 0.34, 0.84],
] as const;

/** The outer or the inner side of the shell of a rowing boat. */
function shell(side: "outer" | "inner"): BufferGeometry {
  const [narrow, floor] = side === "outer" ? [1, 0] : [0.88, 0.1];
  const rings = STATIONS.map(([z, half, keel, edge]) => {
    const x = half * narrow;
    const low = Math.min(edge, keel + floor);
    return [
      [-x, edge, z],
      [-x * 0.62, low, z],
      [x * 0.62, low, z],
      [x, edge, z],
    ] as const;
  });
  const corners: number[] = [];
  const face = (a: Corner, b: Corner, c: Corner): void => {
    corners.push(...a, ...(side === "outer" ? [...b, ...c] : [...c, ...b]));
  };
  for (let at = 0; at + 1 < rings.length; at++) {
    const [ring, next] = [rings[at]!, rings[at + 1]!];
    for (let strake = 0; strake < 3; strake++) {
      face(ring[strake]!, next[strake]!, ring[strake + 1]!);
      face(ring[strake + 1]!, next[strake]!, next[strake + 1]!);
    }
  }
  const [a, b, c, d] = rings[0]!;
  face(a, b, c);
  face(a, c, d);
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(new Float32Array(corners), 3));
  return geometry;
}

type Corner = readonly [number, number, number];

/** A number from 0 to 1 that looks random, and is the same for the same number. */
function scatter(number: number): number {
  const value = Math.sin(number * 12.9898) * 43758.5453;
  return value - Math.floor(value);
}

const TINT = new Color();
