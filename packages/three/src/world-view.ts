import type { Entity, EntityId, Player, PlayerId, World } from "nowcast/world";
import type { Group, Object3D, PerspectiveCamera } from "three";
import { Assets } from "./assets.js";
import { describeBody, isShown } from "./look/body.js";
import { trackedPartOf } from "./people/tracked/tracked-kinds.js";
import { poseOf } from "./pose.js";
import { WorldScene, type WorldSceneOptions } from "./world-scene.js";

export interface WorldViewOptions extends Omit<WorldSceneOptions, "assets"> {
  /**
   * Draws into this scene instead of a new one. The scene is not freed with the view. This view's own options for the
   * scene are then ignored.
   */
  readonly scene?: WorldScene | undefined;
  /**
   * The server from which models and textures are fetched, such as `https://example.org:7777`. By default the
   * world's own server. If it is not the page's own, it must admit the page's origin.
   */
  readonly server?: string | undefined;
  /**
   * Makes your own objects for entities, by the name of the kind. The view moves an object with its entity, and removes it when
   * the entity leaves. Geometries and materials stay yours.
   */
  readonly kinds?: Readonly<Record<string, (entity: Entity) => Object3D>> | undefined;
}

/**
 * An SDK world as three.js objects. Add {@link WorldView.group} to a scene, call {@link WorldView.update} in every frame,
 * and {@link WorldView.dispose} at the end.
 *
 * ```ts
 * const view = new WorldView(joinWorld("nowcast://localhost:7777/playground"));
 * scene.add(view.group);
 * startLoop(renderer, ({ nowMs, seconds }) => {
 *   view.update(nowMs, seconds, camera);
 *   renderer.render(scene, camera);
 * });
 * ```
 */
export class WorldView {
  readonly scene: WorldScene;
  readonly #ownsScene: boolean;
  readonly #releases: (() => void)[] = [];
  readonly #avatars = new Map<number, EntityId>();
  /** The players, by their avatars. */
  readonly #players = new Map<number, Player>();
  readonly #kinds: NonNullable<WorldViewOptions["kinds"]>;
  readonly #objects = new Map<EntityId, Object3D>();
  /** The module for heads and hands is loaded when the first of them appears. */
  #isTracking = false;
  #isDisposed = false;

  constructor(
    readonly world: World,
    options: WorldViewOptions = {},
  ) {
    const { scene, server, kinds = {}, ...rest } = options;
    this.#kinds = kinds;
    this.#ownsScene = scene === undefined;
    this.scene = scene ?? new WorldScene({ ...rest, assets: new Assets(server ?? world.serverUrl) });
    this.#listen();
    if (world.definition) this.scene.define(world.definition);
    for (const player of world.players.values()) this.#called(player);
    for (const entity of world.entities.values()) this.#add(entity);
  }

  get group(): Group {
    return this.scene.group;
  }

  /**
   * Runs all steps of a frame: `World.frame`, {@link WorldView.place} and, with a camera,
   * {@link WorldView.writeLabels}. `nowMs` is the frame's time (`performance.now()`), `seconds` the time since the
   * previous frame. Move a camera that follows an entity before this call: first `world.frame`, then
   * `world.pose`, then the camera.
   */
  update(nowMs: number, seconds: number, camera?: PerspectiveCamera): void {
    this.world.frame(nowMs);
    this.place(seconds);
    if (camera) this.writeLabels(nowMs, camera);
  }

  /**
   * Moves all entities to their poses at the moment of the last `World.frame`, and animates them by
   * `seconds`. The entity `hidden` is not drawn, because the camera is inside it.
   */
  place(seconds: number, hidden?: number | undefined): void {
    this.scene.placeProps(this.world);
    this.scene.placePeople(this.world);
    for (const [id, object] of this.#objects) {
      this.world.pose(id, object);
      object.visible = id !== hidden;
    }
    this.scene.animate(seconds, hidden);
  }

  /** Places labels at the camera's view of the entities. The name of the local avatar is left out. */
  writeLabels(nowMs: number, camera: PerspectiveCamera): void {
    this.scene.updateLabels(nowMs, camera, this.world.avatarId);
  }

  /** Ends the view and frees all its objects. The world stays open. */
  dispose(): void {
    this.#isDisposed = true;
    for (const release of this.#releases) release();
    this.#releases.length = 0;
    this.scene.setTracking(undefined);
    this.#removeObjects();
    if (this.#ownsScene) this.scene.dispose();
    else this.scene.clear();
  }

  #listen(): void {
    const { world, scene } = this;
    this.#releases.push(
      world.on("welcome", () => {
        // After a reconnect, the server may be another one, with another ground.
        scene.clear();
        this.#removeObjects();
        this.#avatars.clear();
        this.#players.clear();
      }),
      world.on("define", ({ definition }) => {
        scene.define(definition);
        // The look of a kind may have changed without a `change` event.
        for (const entity of world.entities.values()) this.#change(entity);
        this.#retrack();
      }),
      world.on("spawn", ({ entity }) => this.#add(entity)),
      world.on("change", ({ entity, names, parts }) => {
        if (parts.length > 0 || isShown(names)) this.#change(entity);
      }),
      world.on("despawn", ({ entity: { id } }) => {
        scene.remove(id);
        scene.tracking?.remove(id);
        this.#removeObject(id);
      }),
      ...(["joined", "renamed", "avatar"] as const).map((type) =>
        world.on(type, ({ player }) => this.#called(player)),
      ),
      world.on("left", ({ player }) => this.#uncalled(player)),
    );
  }

  #add(entity: Entity): void {
    this.#describe(entity, (...described) => this.scene.add(...described));
    if (trackedPartOf(entity.kind) === undefined) return;
    if (this.scene.tracking) this.#track(entity);
    else if (!this.#isTracking) void this.#loadTracking();
  }

  /** The local player's head and hands are shown at their tracked poses, not at the server's. */
  #track(entity: Entity): void {
    const part = trackedPartOf(entity.kind);
    if (part !== undefined && entity.owner !== this.world.playerId) this.scene.tracking?.add(entity, part);
  }

  async #loadTracking(): Promise<void> {
    this.#isTracking = true;
    const { Tracking } = await import("./people/tracked/tracking.js");
    if (this.#isDisposed) return;
    this.scene.setTracking(
      new Tracking(this.scene.crowd, (player) => this.world.players.get(player as PlayerId)?.avatarId),
    );
    this.#retrack();
  }

  /** Adds all heads and hands again, if there are any. */
  #retrack(): void {
    if (!this.scene.tracking) return;
    this.scene.tracking.clear();
    for (const entity of this.world.entities.values()) this.#track(entity);
  }

  #change(entity: Entity): void {
    this.#describe(entity, (...described) => this.scene.change(...described));
  }

  /** Draws an entity by the scene, or by an object of the page. */
  #describe(entity: Entity, draw: (...described: Parameters<WorldScene["add"]>) => void): void {
    const { id, kind } = entity;
    const make = Object.hasOwn(this.#kinds, kind.name) ? this.#kinds[kind.name] : undefined;
    const player = this.#players.get(id);
    const body = describeBody(entity, player?.id);
    const { appearance } = body;
    const isOwn = make !== undefined && appearance !== undefined;
    draw(
      isOwn ? { ...body, appearance: { ...appearance, model: undefined } } : body,
      poseOf(entity),
      player?.name,
    );
    if (make !== undefined) this.scene.hide(id);
    if (this.#objects.get(id)?.userData["kind"] === kind.name) return;
    this.#removeObject(id);
    if (make === undefined) return;
    const object = make(entity);
    object.userData["kind"] = kind.name;
    this.#objects.set(id, object);
    this.group.add(object);
  }

  #removeObject(id: EntityId): void {
    this.#objects.get(id)?.removeFromParent();
    this.#objects.delete(id);
  }

  #removeObjects(): void {
    for (const id of [...this.#objects.keys()]) this.#removeObject(id);
  }

  /** Sets the name and the avatar of a player. */
  #called(player: Player): void {
    const { id, name, avatarId } = player;
    const isNew = this.#avatars.get(id) !== avatarId;
    if (isNew) this.#uncalled(player);
    if (avatarId === undefined) return;
    this.#avatars.set(id, avatarId);
    this.#players.set(avatarId, player);
    if (isNew) this.#dress(avatarId);
    else this.scene.rename(avatarId, name);
  }

  #uncalled({ id }: Player): void {
    const avatarId = this.#avatars.get(id);
    if (avatarId === undefined) return;
    this.#avatars.delete(id);
    // Another player may have this avatar already.
    if (this.#players.get(avatarId)?.id !== id) return;
    this.#players.delete(avatarId);
    this.#dress(avatarId);
  }

  /** Gives an entity the name and the clothes of the player whose avatar it is. */
  #dress(id: EntityId): void {
    const entity = this.world.entities.get(id);
    if (entity) this.#change(entity);
  }
}
