import type { Form } from "nowcast/internal";
import type { Texture } from "three";
import type { Body } from "../look/body.js";
import type { Pose } from "../pose.js";
import { createGeometry } from "./form-geometry.js";
import type { RayBox } from "./ray.js";
import { TriangleGrid } from "./triangle-grid.js";

/** The shape of a prop for ray tests: its bounding box, a ball, or its triangles. */
export type Probe = "box" | "ball" | TriangleGrid;

/**
 * A drawn entity that is not a player: its pose, and for rays its form and the half lengths of the surrounding box.
 */
export interface Prop extends RayBox {
  readonly id: number;
  readonly body: Body;
  readonly form: Form;
  readonly probe: Probe;
  /** Radius of the sphere around the prop, in metres. */
  readonly reach: number;
  readonly halfHeight: number;
  readonly color: number;
  readonly opacity: number;
  /** Emitted light, including the highlight of entities within a hand's reach. */
  glow: number;
  /** The texture on the prop's surface, once the texture is loaded. */
  texture: Texture | undefined;
  /** Whether a model is drawn in its place. */
  isModelled: boolean;
  /** Whether it has moved since its entity appeared. */
  hasMoved: boolean;
  /** The prop's index among the instances that are drawn together; −1 if it is not drawn as an instance. */
  slot: number;
}

const NO_COLOR = 0xc9c4b8;
/** The colour that leaves a texture unchanged. */
const WHITE = 0xffffff;

export function createProp(body: Body, form: Form, pose: Pose): Prop {
  const [scaleX, scaleY, scaleZ] = body.scale.map(Math.abs) as [number, number, number];
  const [x, y, z] = halfLengths(form);
  const isUniform = scaleX === scaleY && scaleY === scaleZ;
  return {
    id: body.id,
    body,
    form,
    probe:
      isBoxy(form) || (form.shape === "sphere" && !isUniform)
        ? "box"
        : form.shape === "sphere"
          ? "ball"
          : gridOf(form),
    reach: Math.hypot(x * scaleX, y * scaleY, z * scaleZ),
    color: body.appearance?.color ?? (body.appearance?.texture === undefined ? NO_COLOR : WHITE),
    opacity: body.appearance?.opacity ?? 1,
    glow: body.appearance?.glow ?? 0,
    texture: undefined,
    isModelled: false,
    hasMoved: false,
    slot: -1,
    position: pose.position.clone(),
    quaternion: pose.quaternion.clone(),
    halfHeight: y * scaleY,
    halfX: x * scaleX,
    halfY: y * scaleY,
    halfZ: z * scaleZ,
  };
}

function isBoxy({ shape }: Form): boolean {
  return shape === "box" || shape === "capsule" || shape === "cylinder" || shape === "cone";
}

/** Half lengths of the smallest box around a form whose centre is the form's origin. */
function halfLengths(form: Form): [number, number, number] {
  switch (form.shape) {
    case "box":
      return [form.size[0] / 2, form.size[1] / 2, form.size[2] / 2];
    case "sphere":
      return [form.radius, form.radius, form.radius];
    case "capsule":
    case "cylinder":
    case "cone":
      return [form.radius, form.height / 2, form.radius];
    default:
      return gridOf(form).halfLengths();
  }
}

/** Entities of one kind share their form and therefore their grid for rays. */
function gridOf(form: Form): TriangleGrid {
  const known = GRIDS.get(form);
  if (known) return known;
  const geometry = createGeometry(form);
  const grid = TriangleGrid.of(geometry);
  geometry.dispose();
  GRIDS.set(form, grid);
  return grid;
}

const GRIDS = new WeakMap<Form, TriangleGrid>();
