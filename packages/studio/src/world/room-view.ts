/** The 3D view of a room. Loaded when the tab `World` is opened, because three.js is large. */

import { Sun, startLoop, WorldView } from "@nowcast/three";
import { castAt } from "@nowcast/three/internal";
import { type EntityId, joinWorld, type PlayerId, type World } from "nowcast/world";
import { Color, Object3D, PerspectiveCamera, Raycaster, Scene, Vector2, Vector3, WebGLRenderer } from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { TransformControls } from "three/addons/controls/TransformControls.js";
import type { Pose } from "../api/types.js";
import { make } from "../dom.js";
import { Overlay, type Relations } from "./overlay.js";

/** A press that moves less than this is a click, in pixels. */
const CLICK_PX = 5;
const PIXEL_RATIO_MAX = 1.5;
/** The distance of the camera from an entity that is framed, in metres. */
const FRAME_DISTANCE = 14;
/** Frames that take longer than this leave the page too little time, so the picture becomes coarser. */
const FRAME_MS_MAX = 70;
/** Slow frames in a row before the next step. */
const SLOW_FRAMES = 4;
/** Resolutions for slow machines, as shares of the window's. Without shadows. */
const COARSE = [0.75, 0.5, 0.33];

export interface RoomViewListener {
  /** The user clicked an entity; `undefined` for the empty space. */
  picked(id: number | undefined): void;
  /** The user dragged the selected entity to this pose. */
  moved(id: number, pose: Required<Pose>): void;
}

/** The layers over the picture. */
export interface Layers {
  readonly shapes: boolean;
  readonly relations: boolean;
  readonly grid: boolean;
}

export interface RoomViewOptions {
  readonly url: string;
  readonly token: string | undefined;
  readonly canMove: boolean;
}

export class RoomView {
  readonly element = make("div", { class: "room-view" });
  readonly world: World;
  readonly #view: WorldView;
  readonly #renderer = new WebGLRenderer({ antialias: true });
  readonly #scene = new Scene();
  readonly #camera = new PerspectiveCamera(55, 1, 0.1, 1_000);
  readonly #controls: OrbitControls;
  readonly #gizmo: TransformControls;
  readonly #handle = new Object3D();
  readonly #sun = new Sun();
  readonly #overlay: Overlay;
  readonly #listener: RoomViewListener;
  readonly #canMove: boolean;
  readonly #observer: ResizeObserver;
  readonly #pose = new Object3D();
  readonly #goal = new Vector3();
  #stopLoop: (() => void) | undefined;
  #selected: number | undefined;
  #followed: number | undefined;
  #isDragging = false;
  #slowFrames = 0;
  #coarse = 0;
  #drawNotBeforeMs = 0;

  constructor({ url, token, canMove }: RoomViewOptions, listener: RoomViewListener) {
    this.#listener = listener;
    this.#canMove = canMove;
    const labels = make("div", { class: "labels", "aria-hidden": "true" });
    const canvas = this.#renderer.domElement;
    canvas.setAttribute("aria-label", "Picture of the room");
    canvas.setAttribute("role", "img");
    this.element.append(canvas, labels);
    this.world = joinWorld(url, { role: "program", name: "Studio", token, retry: true });
    this.world.ready.catch(() => undefined);
    this.#view = new WorldView(this.world, { labels });
    this.#overlay = new Overlay(this.world);
    this.#camera.position.set(14, 14, 18);
    this.#controls = new OrbitControls(this.#camera, canvas);
    this.#controls.enableDamping = true;
    this.#controls.maxDistance = 400;
    this.#gizmo = new TransformControls(this.#camera, canvas);
    this.#gizmo.size = 0.8;
    this.#gizmo.addEventListener("dragging-changed", ({ value }) => this.#dragging(value === true));
    this.#renderer.shadowMap.enabled = true;
    this.#renderer.setPixelRatio(Math.min(PIXEL_RATIO_MAX, window.devicePixelRatio));
    this.#scene.background = new Color("#bcd7f0");
    this.#scene.add(this.#view.group, this.#sun.group, this.#handle, this.#gizmo.getHelper());
    this.#scene.add(this.#overlay.group);
    this.#listenForClicks(canvas);
    this.#observer = new ResizeObserver(() => this.#resize());
    this.#observer.observe(this.element);
  }

  /** Draws frames until `stop`. */
  start(): void {
    this.#resize();
    let skippedS = 0;
    this.#stopLoop ??= startLoop(this.#renderer, ({ nowMs, frameMs, seconds }) => {
      skippedS += seconds;
      if (nowMs < this.#drawNotBeforeMs) return;
      const begunMs = performance.now();
      // Another resolution empties the picture, so it is set before the drawing.
      this.#governResolution(frameMs);
      this.#frame(nowMs, skippedS);
      skippedS = 0;
      const endMs = performance.now();
      // Drawing takes at most half of the page's time.
      this.#drawNotBeforeMs = endMs + (endMs - begunMs > FRAME_MS_MAX / 2 ? endMs - begunMs : 0);
    });
  }

  stop(): void {
    this.#stopLoop?.();
    this.#stopLoop = undefined;
  }

  /** Highlights an entity, and offers to move it. */
  select(id: number | undefined): void {
    this.#selected = id;
    this.#overlay.selected = id;
    this.#overlay.relations = undefined;
    this.#view.scene.highlight(id);
    this.#placeGizmo();
  }

  /** Keeps the camera at an entity; `undefined` ends this. */
  follow(id: number | undefined): void {
    this.#followed = id;
  }

  /** Moves the camera to an entity, at a distance from which its surroundings are visible. */
  frame(id: number): void {
    if (!this.world.pose(id as EntityId, this.#pose)) return;
    const { target } = this.#controls;
    this.#goal.subVectors(this.#camera.position, target);
    this.#goal.setLength(Math.min(FRAME_DISTANCE, this.#goal.length()));
    target.copy(this.#pose.position);
    this.#camera.position.copy(target).add(this.#goal);
  }

  /** Draws all body shapes, the selected entity's relations, or a metre grid. */
  showLayers(layers: Layers): void {
    this.#overlay.showsShapes = layers.shapes;
    this.#overlay.showsRelations = layers.relations;
    this.#overlay.showsGrid = layers.grid;
  }

  /** The entities that the selected entity touches or is joined to. */
  relate(relations: Relations | undefined): void {
    this.#overlay.relations = relations;
  }

  /** Selects the means to change the pose of the selected entity. */
  set gizmo(mode: "translate" | "rotate") {
    this.#gizmo.setMode(mode);
  }

  /** The name of a player in the room. */
  nameOf(player: number): string | undefined {
    return this.world.players.get(player as PlayerId)?.name;
  }

  dispose(): void {
    this.stop();
    this.#observer.disconnect();
    this.#gizmo.dispose();
    this.#overlay.dispose();
    this.#controls.dispose();
    this.#view.dispose();
    this.world.close();
    this.#renderer.dispose();
    this.element.remove();
  }

  #frame(nowMs: number, seconds: number): void {
    this.world.frame(nowMs);
    if (this.#followed !== undefined && this.world.pose(this.#followed as EntityId, this.#pose)) {
      this.#goal.copy(this.#pose.position).sub(this.#controls.target);
      this.#goal.multiplyScalar(Math.min(1, seconds * 6));
      this.#controls.target.add(this.#goal);
      this.#camera.position.add(this.#goal);
    }
    if (!this.#isDragging) this.#placeGizmo();
    this.#controls.update();
    this.#view.update(nowMs, seconds, this.#camera);
    this.#overlay.update();
    const { x, y, z } = this.#controls.target;
    this.#sun.aim(this.#camera, x, y, z);
    this.#renderer.render(this.#scene, this.#camera);
  }

  #governResolution(frameMs: number): void {
    this.#slowFrames = frameMs > FRAME_MS_MAX ? this.#slowFrames + 1 : 0;
    const ratio = COARSE[this.#coarse];
    if (this.#slowFrames < SLOW_FRAMES || ratio === undefined) return;
    this.#slowFrames = 0;
    this.#coarse += 1;
    this.#renderer.shadowMap.enabled = false;
    this.#sun.setDetail({ shadowMap: 0, shadowReach: 0 });
    this.#renderer.setPixelRatio(ratio);
    this.#resize();
  }

  /** Shows the gizmo at the selected entity, while its place is known. */
  #placeGizmo(): void {
    const isShown =
      this.#selected !== undefined &&
      this.#canMove &&
      this.world.pose(this.#selected as EntityId, this.#handle);
    if (!isShown) this.#gizmo.detach();
    else if (this.#gizmo.object === undefined) this.#gizmo.attach(this.#handle);
  }

  #dragging(isDragging: boolean): void {
    this.#controls.enabled = !isDragging;
    this.#isDragging = isDragging;
    if (isDragging || this.#selected === undefined) return;
    const { position, quaternion } = this.#handle;
    this.#listener.moved(this.#selected, {
      position: [position.x, position.y, position.z],
      rotation: [quaternion.x, quaternion.y, quaternion.z, quaternion.w],
    });
  }

  #listenForClicks(canvas: HTMLCanvasElement): void {
    let [fromX, fromY] = [0, 0];
    canvas.addEventListener("pointerdown", ({ offsetX, offsetY }) => {
      [fromX, fromY] = [offsetX, offsetY];
    });
    canvas.addEventListener("pointerup", ({ offsetX, offsetY }) => {
      if (this.#isDragging || Math.hypot(offsetX - fromX, offsetY - fromY) > CLICK_PX) return;
      this.#listener.picked(this.#pick(offsetX, offsetY));
    });
  }

  /** The nearest entity under a point of the picture. */
  #pick(x: number, y: number): number | undefined {
    const { clientWidth, clientHeight } = this.element;
    const ray = new Raycaster();
    ray.setFromCamera(new Vector2((x / clientWidth) * 2 - 1, 1 - (y / clientHeight) * 2), this.#camera);
    const { origin, direction } = ray.ray;
    let found: number | undefined;
    let nearest = 1_000;
    for (const prop of this.#view.scene.all) {
      const distance = castAt(
        prop,
        0,
        origin.x,
        origin.y,
        origin.z,
        direction.x,
        direction.y,
        direction.z,
        nearest,
      );
      if (distance >= nearest) continue;
      nearest = distance;
      found = prop.id;
    }
    return found;
  }

  #resize(): void {
    const { clientWidth, clientHeight } = this.element;
    if (clientWidth === 0 || clientHeight === 0) return;
    this.#renderer.setSize(clientWidth, clientHeight, false);
    this.#drawNotBeforeMs = 0;
    this.#camera.aspect = clientWidth / clientHeight;
    this.#camera.updateProjectionMatrix();
  }
}
