import { BufferAttribute, BufferGeometry } from "three";

/**
 * A unit box with rounded edges whose bevel keeps its width at any size.
 *
 * A vertex is stored as its corner (each component -1 or 1) and the direction in which the rounding moves it. The
 * vertex shader places it at `corner * (half - bevel) + direction * bevel`, so one geometry serves boxes of all sizes
 * without stretching their edges. The direction is also the normal.
 *
 * `segments` is the number of steps around each quarter of an edge's rounding.
 */
export function createBevelledBox(segments: number): BufferGeometry {
  const steps = edgeSteps(segments);
  const n = steps.length;
  const positions = new Float32Array(6 * n * n * 3);
  const corners = new Float32Array(6 * n * n * 3);
  const indices: number[] = [];
  let vertex = 0;
  for (let axis = 0; axis < 3; axis++) {
    for (const side of [-1, 1]) {
      const first = vertex;
      for (const v of steps) {
        for (const u of steps) {
          const length = Math.hypot(1, u.tangent, v.tangent);
          const at = vertex * 3;
          const [a, b, c] = [axis, (axis + 1) % 3, (axis + 2) % 3] as const;
          positions[at + a] = side / length;
          positions[at + b] = u.tangent / length;
          positions[at + c] = v.tangent / length;
          corners[at + a] = side;
          corners[at + b] = u.corner;
          corners[at + c] = v.corner;
          vertex++;
        }
      }
      addFace(indices, first, n, side > 0);
    }
  }
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(positions, 3));
  geometry.setAttribute("normal", new BufferAttribute(positions.slice(), 3));
  geometry.setAttribute("corner", new BufferAttribute(corners, 3));
  geometry.setIndex(indices);
  return geometry;
}

/** The width of the bevel of a box with these half edge lengths, in metres; the shader has the same formula. */
export const BEVEL_GLSL = "min(0.045, 0.2 * min(aHalf.x, min(aHalf.y, aHalf.z)))";

interface EdgeStep {
  corner: -1 | 1;
  /** Tangent of the angle between the rounded surface and the flat face at this vertex. */
  tangent: number;
}

function edgeSteps(segments: number): EdgeStep[] {
  const steps: EdgeStep[] = [];
  for (let i = 0; i <= segments; i++) {
    steps.push({ corner: -1, tangent: -Math.tan(((1 - i / segments) * Math.PI) / 4) });
  }
  for (let i = 0; i <= segments; i++) {
    steps.push({ corner: 1, tangent: Math.tan(((i / segments) * Math.PI) / 4) });
  }
  return steps;
}

function addFace(indices: number[], first: number, n: number, outward: boolean): void {
  for (let row = 0; row < n - 1; row++) {
    for (let column = 0; column < n - 1; column++) {
      const a = first + row * n + column;
      const b = a + 1;
      const c = a + n;
      const d = c + 1;
      if (outward) indices.push(a, b, d, a, d, c);
      else indices.push(a, d, b, a, c, d);
    }
  }
}
