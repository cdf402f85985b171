import { Group } from "three";
import { Crowd } from "./avatar/crowd.js";
import { Labels } from "./avatar/labels.js";
import type { Body } from "./body.js";
import type { Net } from "./net.js";
import { copyPose, createPose, isSamePose, type Pose } from "./pose.js";
import { Boxes } from "./scene/boxes.js";
import { Ground, isGround } from "./scene/ground.js";
import { Obstacles } from "./scene/obstacles.js";
import { createProp, type Prop } from "./scene/prop.js";
import type { Quality } from "./scene/quality.js";
import { Shapes } from "./scene/shapes.js";

/** What lights up what a hand can reach. */
const HIGHLIGHT = 1;
const LABEL_ABOVE_M = 0.28;
const LAWN_REST_S = 0.3;

/** Everything that the world is said to contain, as it is drawn: ground, things, people, and what is written above them. */
export class SharedScene {
  readonly group = new Group();
  readonly obstacles = new Obstacles();
  readonly crowd = new Crowd();
  readonly labels = new Labels();
  private readonly ground = new Ground();
  private readonly boxes: Boxes;
  private readonly shapes: Shapes;
  private readonly props = new Map<number, Prop>();
  /** Those that may be somewhere else in each frame. */
  private readonly moving = new Set<Prop>();
  private readonly pose: Pose = createPose();
  private highlighted: number | undefined;
  private hasChanged = true;
  /** Grass must be sown anew, because the ground, what stands on it, or the quality has changed; and for how long nothing more has. */
  private hasLawnChanged = true;
  private lawnSeconds = 0;

  constructor(private quality: Quality) {
    this.boxes = new Boxes(quality.bevelSegments, quality.rich);
    this.shapes = new Shapes(quality.rich);
    this.ground.setDetail(quality.rich);
    this.group.add(this.ground.group, this.boxes.group, this.shapes.group, this.crowd.group);
  }

  setQuality(quality: Quality): void {
    this.quality = quality;
    this.boxes.setDetail(quality.bevelSegments, quality.rich);
    this.shapes.setDetail(quality.rich);
    this.ground.setDetail(quality.rich);
    this.changeLawn();
    this.hasChanged = true;
  }

  /** `name` is that of the player whose avatar it is. */
  add(body: Body, pose: Pose, name: string | undefined): void {
    this.remove(body.id);
    const { appearance } = body;
    if (!appearance) return;
    const { form } = appearance;
    if (form?.shape === "person") this.crowd.add(body, pose);
    else if (form) this.addProp(createProp(body, form, pose));
    this.name(body, pose, name);
    this.hasChanged = true;
  }

  /** It looks otherwise; what moves stays where it is shown, what is fixed goes where it now is. */
  change(body: Body, pose: Pose, name: string | undefined): void {
    const member = this.crowd.get(body.id);
    if (member && body.appearance?.form?.shape === "person") {
      this.crowd.change(body);
      this.name(body, member, name);
      return;
    }
    const shown = member ?? this.props.get(body.id);
    this.add(body, shown && !body.isFixed ? poseOf(shown) : pose, name);
  }

  /** A player is called otherwise, or has another avatar. */
  rename(id: number, name: string | undefined): void {
    const member = this.crowd.get(id) ?? this.props.get(id);
    if (member) this.name(member.body, member, name);
  }

  remove(id: number): void {
    this.crowd.remove(id);
    this.labels.remove(id);
    const prop = this.props.get(id);
    if (!prop) return;
    if (prop.body.isFixed) this.changeLawn();
    if (!this.ground.remove(id)) this.rendererOf(prop).remove(prop);
    this.obstacles.remove(prop);
    this.moving.delete(prop);
    this.props.delete(id);
    this.hasChanged = true;
  }

  clear(): void {
    this.boxes.clear();
    this.shapes.clear();
    this.crowd.clear();
    this.ground.clear();
    this.labels.clear();
    this.obstacles.clear();
    this.props.clear();
    this.moving.clear();
    this.highlighted = undefined;
    this.changeLawn();
    this.hasChanged = true;
  }

  get all(): Iterable<Prop> {
    return this.props.values();
  }

  get(id: number): Prop | undefined {
    return this.props.get(id);
  }

  placeProps(net: Net): void {
    for (const prop of this.moving) {
      if (!net.pose(prop.id, this.pose) || isSamePose(this.pose, prop)) continue;
      copyPose(this.pose, prop);
      this.rendererOf(prop).place(prop);
      this.hasChanged = true;
    }
  }

  placePeople(net: Net): void {
    const { members } = this.crowd;
    for (let i = 0; i < members.length; i++) {
      const { id } = members[i]!;
      if (net.pose(id, this.pose)) this.crowd.place(id, this.pose);
    }
  }

  /** Lights up one thing, and no other. */
  highlight(id: number | undefined): void {
    if (id === this.highlighted) return;
    this.light(this.highlighted, 0);
    this.light(id, HIGHLIGHT);
    this.highlighted = id;
  }

  /** Whether anything has moved since the last call; shadows need not be drawn again while nothing does. */
  takeChanged(): boolean {
    const changed = this.hasChanged;
    this.hasChanged = false;
    return changed || this.crowd.members.length > 0;
  }

  /** Sows grass once nothing more of what stands fixed arrives. */
  tendLawn(seconds: number): void {
    if (!this.hasLawnChanged) return;
    this.lawnSeconds += seconds;
    if (this.lawnSeconds < LAWN_REST_S) return;
    this.hasLawnChanged = false;
    if (this.quality.grass) this.ground.grow(this.obstacles.fixed());
    else this.ground.mow();
  }

  private changeLawn(): void {
    this.hasLawnChanged = true;
    this.lawnSeconds = 0;
  }

  private addProp(prop: Prop): void {
    this.props.set(prop.id, prop);
    if (isGround(prop)) this.ground.add(prop);
    else this.rendererOf(prop).add(prop);
    if (prop.body.isSolid) this.obstacles.add(prop);
    if (prop.body.isFixed) this.changeLawn();
    else this.moving.add(prop);
    if (prop.id === this.highlighted) this.light(prop.id, HIGHLIGHT);
  }

  private rendererOf({ form, opacity }: Prop): Boxes | Shapes {
    return form.shape === "box" && opacity === 1 ? this.boxes : this.shapes;
  }

  private light(id: number | undefined, by: number): void {
    const prop = id === undefined ? undefined : this.props.get(id);
    if (!prop || prop.slot < 0) return;
    prop.glow = (prop.body.appearance?.glow ?? 0) + by;
    this.rendererOf(prop).light(prop);
  }

  private name(body: Body, at: Readonly<Pose>, name: string | undefined): void {
    const text = [name, body.appearance?.label].filter((part) => part).join(" · ");
    if (text === "") return this.labels.remove(body.id);
    const member = this.crowd.get(body.id);
    const prop = this.props.get(body.id);
    const above = ((member ?? prop)?.halfHeight ?? 0) + LABEL_ABOVE_M;
    this.labels.set(body.id, text, member ?? prop ?? at, above);
  }
}

function poseOf({ x, y, z, qx, qy, qz, qw }: Readonly<Pose>): Pose {
  return { x, y, z, qx, qy, qz, qw };
}
