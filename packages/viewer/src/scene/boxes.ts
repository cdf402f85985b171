import {
  Color,
  DynamicDrawUsage,
  InstancedBufferAttribute,
  InstancedMesh,
  type Material,
  Matrix4,
  Quaternion,
  Vector3,
} from "three";
import type { Body, Pose } from "../net.js";
import { createBevelledBox } from "./bevelled-box.js";
import { createBoxDepthMaterial, createBoxMaterial } from "./box-material.js";
import { type RayBox, rayBoxDistance } from "./ray.js";

/** One drawn box; also what the camera and the feet collide with. */
export interface Box extends RayBox {
  readonly id: number;
  readonly movable: boolean;
}

/** Every box of the world in one draw call, with a pose, a size, a colour and a glow each. */
export class Boxes {
  mesh!: InstancedMesh;
  private capacity = 512;
  private readonly boxes: Box[] = [];
  private readonly solids: RayBox[] = [];
  private readonly slots = new Map<number, number>();
  private shape!: InstancedBufferAttribute;
  private style!: InstancedBufferAttribute;
  private material: Material;
  private readonly depth = createBoxDepthMaterial();
  private changed = true;

  constructor(
    private segments: number,
    private rich: boolean,
    private readonly onMesh: (mesh: InstancedMesh, old: InstancedMesh | undefined) => void,
  ) {
    this.material = createBoxMaterial(rich);
    this.rebuild();
  }

  get all(): readonly Box[] {
    return this.boxes;
  }

  get(id: number): Box | undefined {
    const slot = this.slots.get(id);
    return slot === undefined ? undefined : this.boxes[slot];
  }

  /** Rounder edges and reflective surfaces, or plain ones for slow machines. */
  setDetail(segments: number, rich: boolean): void {
    if (segments === this.segments && rich === this.rich) return;
    if (rich !== this.rich) {
      this.material.dispose();
      this.material = createBoxMaterial(rich);
    }
    this.segments = segments;
    this.rich = rich;
    this.rebuild();
  }

  add(body: Body, pose: Pose): void {
    if (this.slots.has(body.id)) this.remove(body.id);
    if (this.boxes.length === this.capacity) {
      this.capacity *= 2;
      this.rebuild();
    }
    const slot = this.boxes.length;
    const [x, y, z] = body.size;
    const box: Box = {
      id: body.id,
      movable: body.kind === "block",
      x: pose.x,
      y: pose.y,
      z: pose.z,
      halfX: x / 2,
      halfY: y / 2,
      halfZ: z / 2,
      qx: pose.qx,
      qy: pose.qy,
      qz: pose.qz,
      qw: pose.qw,
    };
    this.boxes.push(box);
    this.slots.set(body.id, slot);
    this.mesh.count = this.boxes.length;
    this.shape.setXYZ(slot, box.halfX, box.halfY, box.halfZ);
    this.style.setXY(slot, box.movable ? 0 : 1, 0);
    this.mesh.setColorAt(slot, vary(body.color, body.id, box.movable));
    this.writeMatrix(slot, box);
    this.touch();
  }

  /** Something that stops rays but is drawn elsewhere. */
  addSolid(body: Body, pose: Pose): void {
    const [x, y, z] = body.size;
    this.solids.push({ ...pose, halfX: x / 2, halfY: y / 2, halfZ: z / 2 });
  }

  remove(id: number): void {
    const slot = this.slots.get(id);
    if (slot === undefined) return;
    const last = this.boxes.length - 1;
    if (slot !== last) this.copySlot(last, slot);
    this.boxes.pop();
    this.slots.delete(id);
    this.mesh.count = this.boxes.length;
    this.touch();
  }

  clear(): void {
    this.boxes.length = 0;
    this.solids.length = 0;
    this.slots.clear();
    this.mesh.count = 0;
    this.changed = true;
  }

  /** Puts a box where it now is; costs nothing when it has not moved. */
  place(id: number, pose: Pose): void {
    const slot = this.slots.get(id);
    if (slot === undefined) return;
    const box = this.boxes[slot]!;
    if (
      box.x === pose.x &&
      box.y === pose.y &&
      box.z === pose.z &&
      box.qx === pose.qx &&
      box.qy === pose.qy &&
      box.qz === pose.qz &&
      box.qw === pose.qw
    ) {
      return;
    }
    box.x = pose.x;
    box.y = pose.y;
    box.z = pose.z;
    box.qx = pose.qx;
    box.qy = pose.qy;
    box.qz = pose.qz;
    box.qw = pose.qw;
    this.writeMatrix(slot, box);
    this.mesh.instanceMatrix.needsUpdate = true;
    this.changed = true;
  }

  /** Lights up a box that a hand can reach: 0 is off, 1 full. */
  setGlow(id: number, glow: number): void {
    const slot = this.slots.get(id);
    if (slot === undefined || this.style.getY(slot) === glow) return;
    this.style.setY(slot, glow);
    this.style.needsUpdate = true;
  }

  /** Whether anything has moved since the last call; shadows need not be drawn again while nothing does. */
  takeChanged(): boolean {
    const changed = this.changed;
    this.changed = false;
    return changed;
  }

  /** Distance from a point along a unit direction to the nearest box, each grown by `margin`, leaving out `except`. */
  cast(
    margin: number,
    except: number | undefined,
    ox: number,
    oy: number,
    oz: number,
    dx: number,
    dy: number,
    dz: number,
  ): number {
    let nearest = Number.POSITIVE_INFINITY;
    for (let i = 0; i < this.boxes.length; i++) {
      const box = this.boxes[i]!;
      if (box.id === except) continue;
      const distance = rayBoxDistance(box, margin, ox, oy, oz, dx, dy, dz);
      if (distance < nearest) nearest = distance;
    }
    for (let i = 0; i < this.solids.length; i++) {
      nearest = Math.min(nearest, rayBoxDistance(this.solids[i]!, margin, ox, oy, oz, dx, dy, dz));
    }
    return nearest;
  }

  private writeMatrix(slot: number, box: Box): void {
    POSITION.set(box.x, box.y, box.z);
    ROTATION.set(box.qx, box.qy, box.qz, box.qw);
    this.mesh.setMatrixAt(slot, MATRIX.compose(POSITION, ROTATION, ONE));
  }

  private touch(): void {
    this.mesh.instanceMatrix.needsUpdate = true;
    if (this.mesh.instanceColor) this.mesh.instanceColor.needsUpdate = true;
    this.shape.needsUpdate = true;
    this.style.needsUpdate = true;
    this.changed = true;
  }

  private copySlot(from: number, to: number): void {
    const box = this.boxes[from]!;
    this.boxes[to] = box;
    this.slots.set(box.id, to);
    this.shape.setXYZ(to, box.halfX, box.halfY, box.halfZ);
    this.style.setXY(to, this.style.getX(from), this.style.getY(from));
    this.mesh.getColorAt(from, COLOR);
    this.mesh.setColorAt(to, COLOR);
    this.writeMatrix(to, box);
  }

  private rebuild(): void {
    const old = this.mesh as InstancedMesh | undefined;
    const geometry = createBevelledBox(this.segments);
    this.shape = new InstancedBufferAttribute(new Float32Array(this.capacity * 3), 3);
    this.style = new InstancedBufferAttribute(new Float32Array(this.capacity * 2), 2);
    geometry.setAttribute("aHalf", this.shape);
    geometry.setAttribute("aStyle", this.style);
    const mesh = new InstancedMesh(geometry, this.material, this.capacity);
    mesh.instanceMatrix.setUsage(DynamicDrawUsage);
    mesh.setColorAt(0, COLOR.set(0xffffff));
    mesh.customDepthMaterial = this.depth;
    mesh.castShadow = true;
    mesh.receiveShadow = true;
    // Its instances are all over the world; culling the mesh as one thing would never help.
    mesh.frustumCulled = false;
    mesh.count = this.boxes.length;
    this.mesh = mesh;
    this.boxes.forEach((box, slot) => {
      this.shape.setXYZ(slot, box.halfX, box.halfY, box.halfZ);
      this.style.setXY(slot, box.movable ? 0 : 1, 0);
      if (old) {
        old.getColorAt(slot, COLOR);
        mesh.setColorAt(slot, COLOR);
      }
      this.writeMatrix(slot, box);
    });
    this.touch();
    this.onMesh(mesh, old);
    old?.geometry.dispose();
    old?.dispose();
  }
}

const POSITION = new Vector3();
const ROTATION = new Quaternion();
const ONE = new Vector3(1, 1, 1);
const MATRIX = new Matrix4();
const COLOR = new Color();

/** Neighbours of one colour in a stack stay apart to the eye when each is a touch lighter or darker than the next. */
function vary(color: number, id: number, movable: boolean): Color {
  COLOR.set(color);
  if (movable) {
    const a = ((id * 2654435761) >>> 0) / 4294967296 - 0.5;
    const b = ((id * 40503 + 977) % 1024) / 1024 - 0.5;
    COLOR.offsetHSL(a * 0.018, b * 0.06, a * 0.07);
  }
  return COLOR;
}
