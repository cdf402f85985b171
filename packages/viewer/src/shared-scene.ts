import { Group } from "three";
import { Crowd } from "./avatar/crowd.js";
import { Labels } from "./avatar/labels.js";
import { type Body, createPose, type Net, type Pose } from "./net.js";
import { Boxes } from "./scene/boxes.js";
import { Ground, isGround } from "./scene/ground.js";
import type { Quality } from "./scene/quality.js";

/** Everything that the world is said to contain, as it is drawn: ground, boxes, people and their names. */
export class SharedScene {
  readonly group = new Group();
  readonly boxes: Boxes;
  readonly crowd = new Crowd();
  readonly ground = new Ground();
  readonly labels = new Labels();
  private readonly movable: number[] = [];
  private readonly pose: Pose = createPose();
  /** Grass must be sown anew: the ground, what stands on it, or the quality has changed. */
  private lawnChanged = true;

  constructor(private quality: Quality) {
    this.boxes = new Boxes(quality.bevelSegments, quality.rich, (mesh, old) => {
      if (old) this.group.remove(old);
      this.group.add(mesh);
    });
    this.ground.setDetail(quality.rich);
    this.group.add(this.ground.group, this.crowd.group);
  }

  setQuality(quality: Quality): void {
    this.quality = quality;
    this.boxes.setDetail(quality.bevelSegments, quality.rich);
    this.ground.setDetail(quality.rich);
    this.lawnChanged = true;
  }

  add(body: Body, pose: Pose): void {
    if (isGround(body)) {
      this.ground.add(body, pose);
      this.boxes.addSolid(body, pose);
    } else if (body.kind === "avatar") {
      this.crowd.add(body, pose);
      // The people behind the start screen have no names.
      if (body.name !== "") this.labels.add(body.id, body.name);
    } else {
      this.boxes.add(body, pose);
      if (body.kind === "block") this.movable.push(body.id);
    }
    if (body.kind === "static") this.lawnChanged = true;
  }

  remove(id: number): void {
    this.crowd.remove(id);
    this.labels.remove(id);
    this.boxes.remove(id);
    const index = this.movable.indexOf(id);
    if (index >= 0) this.movable.splice(index, 1);
  }

  clear(): void {
    this.boxes.clear();
    this.crowd.clear();
    this.ground.clear();
    this.labels.clear();
    this.movable.length = 0;
    this.lawnChanged = true;
  }

  placeBlocks(net: Net): void {
    for (let i = 0; i < this.movable.length; i++) {
      const id = this.movable[i]!;
      if (net.pose(id, this.pose)) this.boxes.place(id, this.pose);
    }
  }

  placeAvatars(net: Net): void {
    const { members } = this.crowd;
    for (let i = 0; i < members.length; i++) {
      const { id } = members[i]!;
      if (net.pose(id, this.pose)) this.crowd.place(id, this.pose);
    }
  }

  /** Sows grass once after everything that stands fixed has arrived. */
  tendLawn(): void {
    if (!this.lawnChanged) return;
    this.lawnChanged = false;
    if (this.quality.grass) this.ground.grow(this.boxes.all.filter((box) => !box.movable));
    else this.ground.mow();
  }
}
