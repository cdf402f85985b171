/** Lines over a room's picture: body shapes, and the selected entity's relations. */
import { createGeometry } from "@nowcast/three/internal";
import { bodyOf, type Form, walkerOf } from "nowcast/internal";
import type { EntityId, World, Entity as WorldEntity } from "nowcast/world";
import {
  BufferGeometry,
  Color,
  EdgesGeometry,
  Float32BufferAttribute,
  GridHelper,
  Group,
  LineBasicMaterial,
  LineSegments,
  Matrix4,
  Object3D,
  Quaternion,
  Vector3,
} from "three";

/** Bodies that are drawn at most. */
const SHAPES_MAX = 1_500;
/** A body that has not moved for this many steps is at rest. */
const REST_STEPS = 30;
/** The angle between two faces above which their edge is drawn, in degrees. */
const EDGE_DEG = 12;
/** Segments of the circles of round shapes. */
const AROUND = 32;

/** The classes of bodies by colour. The style sheet has the same colours for the legend. */
export const BODY_COLORS = {
  moving: 0x4ade80,
  resting: 0x60a5fa,
  fixed: 0xcbd5e1,
  kinematic: 0xfbbf24,
  sensor: 0xf472b6,
  walker: 0xfb923c,
} as const;
export const RELATION_COLORS = { contact: 0xfde047, joint: 0xe879f9, parent: 0x22d3ee } as const;

type BodyClass = keyof typeof BODY_COLORS;
type RelationClass = keyof typeof RELATION_COLORS;

/** The entities that are related to the selected one. */
export interface Relations {
  readonly of: number;
  readonly lines: readonly { readonly to: number; readonly type: RelationClass }[];
}

export class Overlay {
  readonly group = new Group();
  showsShapes = false;
  showsRelations = true;
  relations: Relations | undefined;
  selected: number | undefined;
  readonly #world: World;
  readonly #grid = new GridHelper(100, 100);
  readonly #edges = new WeakMap<object, BufferGeometry>();
  readonly #shapes = new Map<number, LineSegments<BufferGeometry, LineBasicMaterial>>();
  readonly #materials = new Map<string, LineBasicMaterial>();
  readonly #lines: LineSegments<BufferGeometry, LineBasicMaterial>;
  readonly #pose = new Object3D();
  readonly #release: () => void;
  #newestTick = 0;

  constructor(world: World) {
    this.#world = world;
    this.#release = world.on("snapshot", ({ tick }) => {
      this.#newestTick = Math.max(this.#newestTick, tick);
    });
    const material = new LineBasicMaterial({ vertexColors: true, depthTest: false, transparent: true });
    this.#lines = new LineSegments(new BufferGeometry(), material);
    this.#lines.frustumCulled = false;
    this.#lines.renderOrder = 3;
    this.#grid.visible = false;
    this.#grid.position.y = 0.01;
    this.group.add(this.#lines, this.#grid);
  }

  get showsGrid(): boolean {
    return this.#grid.visible;
  }

  set showsGrid(shows: boolean) {
    this.#grid.visible = shows;
  }

  /** Moves all lines to the poses of this frame. */
  update(): void {
    const shown = new Set<number>();
    if (this.showsShapes) {
      for (const entity of this.#world.entities.values()) {
        if (shown.size >= SHAPES_MAX) break;
        if (this.#placeShape(entity)) shown.add(entity.id);
      }
    } else if (this.selected !== undefined) {
      const entity = this.#world.entities.get(this.selected as EntityId);
      if (entity && this.#placeShape(entity)) shown.add(entity.id);
    }
    for (const [id, lines] of this.#shapes) {
      if (shown.has(id)) continue;
      lines.removeFromParent();
      this.#shapes.delete(id);
    }
    this.#placeRelations();
  }

  dispose(): void {
    this.#release();
    for (const material of this.#materials.values()) material.dispose();
    this.#lines.geometry.dispose();
    this.#lines.material.dispose();
    this.#grid.dispose();
    this.group.clear();
  }

  #placeShape(entity: WorldEntity): boolean {
    const shape = shapeOf(entity);
    if (!shape || !this.#world.pose(entity.id, this.#pose)) return false;
    let lines = this.#shapes.get(entity.id);
    const edges = this.#edgesOf(shape.source, shape.form);
    if (!lines || lines.geometry !== edges) {
      lines?.removeFromParent();
      lines = new LineSegments(edges, this.#material("fixed", false));
      lines.renderOrder = 2;
      this.#shapes.set(entity.id, lines);
      this.group.add(lines);
    }
    lines.material = this.#material(this.#classOf(entity, shape.motion), entity.id === this.selected);
    lines.position.copy(this.#pose.position);
    lines.quaternion.copy(this.#pose.quaternion);
    lines.scale.set(...entity.scale);
    return true;
  }

  #classOf({ tick }: WorldEntity, motion: BodyClass | "dynamic"): BodyClass {
    if (motion !== "dynamic") return motion;
    return this.#newestTick - tick > REST_STEPS ? "resting" : "moving";
  }

  #edgesOf(source: object, form: Form): BufferGeometry {
    let known = this.#edges.get(source);
    if (!known) {
      known = edgesOf(form);
      this.#edges.set(source, known);
    }
    return known;
  }

  #material(name: BodyClass, isSelected: boolean): LineBasicMaterial {
    const key = `${name} ${isSelected}`;
    let known = this.#materials.get(key);
    if (!known) {
      known = new LineBasicMaterial({
        color: isSelected ? 0xffffff : BODY_COLORS[name],
        depthTest: !isSelected,
        transparent: true,
        opacity: isSelected ? 1 : 0.9,
      });
      this.#materials.set(key, known);
    }
    return known;
  }

  #placeRelations(): void {
    const { relations } = this;
    const points: number[] = [];
    const colors: number[] = [];
    const from = new Vector3();
    const color = new Color();
    if (this.showsRelations && relations && this.#world.pose(relations.of as EntityId, this.#pose)) {
      const { position } = this.#pose;
      from.copy(position);
      for (const { to, type } of relations.lines) {
        if (!this.#world.pose(to as EntityId, this.#pose)) continue;
        points.push(...from, ...position);
        color.set(RELATION_COLORS[type]);
        colors.push(color.r, color.g, color.b, color.r, color.g, color.b);
      }
    }
    const { geometry } = this.#lines;
    this.#lines.visible = points.length > 0;
    if (points.length === 0) return;
    geometry.setAttribute("position", new Float32BufferAttribute(points, 3));
    geometry.setAttribute("color", new Float32BufferAttribute(colors, 3));
  }
}

interface BodyShape {
  /** The record that stays the same while the kind does. */
  readonly source: object;
  readonly form: Form;
  readonly motion: BodyClass | "dynamic";
}

function shapeOf({ kind }: WorldEntity): BodyShape | undefined {
  const walker = walkerOf(kind);
  if (walker) {
    const { radius, height } = walker;
    return { source: kind.walker!, form: { shape: "capsule", radius, height }, motion: "walker" };
  }
  const body = bodyOf(kind);
  return body?.form && { source: kind.body!, form: body.form, motion: body.motion };
}

/** The lines of a form around its own origin. */
function edgesOf(form: Form): BufferGeometry {
  switch (form.shape) {
    case "sphere":
      return lines([...circle(form.radius, "x"), ...circle(form.radius, "y"), ...circle(form.radius, "z")]);
    case "capsule": {
      const half = form.height / 2 - form.radius;
      return lines([
        ...circle(form.radius, "y", half),
        ...circle(form.radius, "y", -half),
        ...sides(form.radius, half),
        ...arc(form.radius, half, 1),
        ...arc(form.radius, -half, -1),
      ]);
    }
    case "cylinder":
      return lines([
        ...circle(form.radius, "y", form.height / 2),
        ...circle(form.radius, "y", -form.height / 2),
        ...sides(form.radius, form.height / 2),
      ]);
    case "compound": {
      const points: number[] = [];
      const at = new Vector3();
      const matrix = new Matrix4();
      for (const part of form.parts) {
        matrix.compose(new Vector3(...part.at), new Quaternion(...part.rotation), new Vector3(1, 1, 1));
        const position = edgesOf(part.form).getAttribute("position");
        for (let index = 0; index < position.count; index += 1) {
          at.fromBufferAttribute(position, index).applyMatrix4(matrix);
          points.push(at.x, at.y, at.z);
        }
      }
      return lines(points);
    }
    default:
      return new EdgesGeometry(createGeometry(form), EDGE_DEG);
  }
}

function lines(points: readonly number[]): BufferGeometry {
  return new BufferGeometry().setAttribute("position", new Float32BufferAttribute(points, 3));
}

/** A circle around an axis, at `offset` on it. */
function circle(radius: number, axis: "x" | "y" | "z", offset = 0): number[] {
  const at = (index: number): readonly number[] => {
    const angle = (index / AROUND) * 2 * Math.PI;
    const [a, b] = [Math.cos(angle) * radius, Math.sin(angle) * radius];
    return axis === "x" ? [offset, a, b] : axis === "y" ? [a, offset, b] : [a, b, offset];
  };
  return Array.from({ length: AROUND }, (_, index) => [...at(index), ...at(index + 1)]).flat();
}

/** The four lines between two circles around Y. */
function sides(radius: number, half: number): number[] {
  const feet: readonly (readonly [number, number])[] = [
    [radius, 0],
    [-radius, 0],
    [0, radius],
    [0, -radius],
  ];
  return feet.flatMap(([x, z]) => [x, half, z, x, -half, z]);
}

/** Two half circles over the end of a capsule: upward for a `sign` of 1. */
function arc(radius: number, offset: number, sign: 1 | -1): number[] {
  const half = AROUND / 2;
  const points: number[] = [];
  for (let index = 0; index < half; index += 1) {
    const [a, b] = [(index / half) * Math.PI, ((index + 1) / half) * Math.PI];
    const [ca, sa] = [Math.cos(a) * radius, offset + sign * Math.sin(a) * radius];
    const [cb, sb] = [Math.cos(b) * radius, offset + sign * Math.sin(b) * radius];
    points.push(ca, sa, 0, cb, sb, 0, 0, sa, ca, 0, sb, cb);
  }
  return points;
}
