import { createPose, type WorldView } from "@nowcast/three";
import type { Poses, World } from "nowcast/world";
import { type PerspectiveCamera, Vector3 } from "three";
import { Actions, buttonOf, lookPitch } from "./actions.js";
import { OrbitCamera, type Placed } from "./camera.js";
import type { WorldHud } from "./hud/world-hud.js";
import { GamepadInput, shareOutButtons } from "./input/gamepad.js";
import { InputCollector } from "./input/input-collector.js";
import { Keyboard } from "./input/keyboard.js";
import { Mouse } from "./input/mouse.js";
import { Touch } from "./input/touch.js";
import { PitchSender, pitchBehind } from "./pitch.js";
import { type Actor, findTarget } from "./targets.js";
import type { Headset } from "./xr/headset.js";

/** Turn of the camera by keys, in radians a second. */
const TURN_PER_SECOND = 2.2;
/** Distance of the camera in metres below which the local avatar would fill the picture, so it is hidden. */
const HIDE_NEARER_M = 1.15;
/** Height of the eyes above the centre of a person. */
const EYES_M = 0.62;
const UNTURNED: Placed = { rotation: [0, 0, 0, 1] };

export interface WorldControlsOptions {
  /** The element that receives mouse and touch. It gets a `tabindex` so that it can take the keyboard. */
  readonly canvas: HTMLCanvasElement;
  readonly world: World;
  readonly poses: Poses;
  /** Its poses are the same. */
  readonly view: WorldView;
  readonly camera: PerspectiveCamera;
  /** Shows prompts, charges and buttons. */
  readonly hud?: WorldHud | undefined;
}

/**
 * A player's part of a frame. Converts keyboard, mouse, touch and gamepad to input of the local avatar and, by the
 * author's bindings, to actions of the world. The camera follows the avatar without a frame of lag.
 */
export class WorldControls {
  readonly inputs: InputCollector;
  readonly actions: Actions;
  readonly camera: OrbitCamera;
  /** The headset while the player wears one: `Headset` of `@nowcast/page/headset`. */
  headset: Headset | undefined;
  readonly #options: WorldControlsOptions;
  readonly #keyboard: Keyboard;
  readonly #mouse: Mouse;
  readonly #gamepad: GamepadInput;
  readonly #touch: Touch | undefined;
  readonly #releases: (() => void)[] = [];
  readonly #pose = createPose();
  readonly #watched = createPose();
  readonly #ahead = new Vector3();
  readonly #pitch = new PitchSender();
  readonly #input = { forward: 0, right: 0, yaw: 0, run: false, jump: false };
  /** The avatar whose direction the camera has already taken. */
  #faced: number | undefined;
  #carriedYaw = 0;

  constructor(options: WorldControlsOptions) {
    const { canvas, world, view, camera, hud } = options;
    this.#options = options;
    if (canvas.tabIndex < 0) canvas.tabIndex = 0;
    this.camera = new OrbitCamera(camera);
    this.inputs = new InputCollector({
      command: (command) => {
        if (command === "chat") {
          this.release();
          hud?.openChat();
        } else if (command === "help") hud?.toggleHelp();
        else if (command === "escape") this.actions.cancel();
      },
      press: (trigger, waits) => this.actions.press(trigger, waits),
      stroke: (trigger) => this.actions.stroke(trigger),
      release: (trigger) => this.actions.release(trigger),
      cancel: () => this.actions.cancel(),
    });
    this.actions = this.#createActions();
    this.#keyboard = new Keyboard(this.inputs);
    this.#mouse = new Mouse(canvas, this.inputs);
    this.#gamepad = new GamepadInput(this.inputs);
    if (hud) {
      this.#touch = new Touch(canvas, this.inputs, hud.stick, hud.knob);
      hud.listener = {
        press: (trigger) => this.inputs.press(trigger),
        release: (trigger) => this.inputs.lift(trigger),
        jump: (isDown) => {
          this.inputs.touch.jump = isDown;
        },
      };
    }
    const hidden = (): void => this.release();
    document.addEventListener("visibilitychange", hidden);
    this.#releases.push(
      () => document.removeEventListener("visibilitychange", hidden),
      world.on("define", () => this.#define()),
      world.on("welcome", () => {
        this.#faced = undefined;
      }),
    );
    this.#define();
    view.poses.sample(performance.now());
  }

  /** The entity that the local player's input moves, as it is shown: a walking player or another entity. */
  get actor(): Actor | undefined {
    const { world, view } = this.#options;
    const { avatarId } = world;
    return avatarId === undefined ? undefined : (view.scene.crowd.get(avatarId) ?? view.scene.get(avatarId));
  }

  /** The avatar that would fill the picture: pass it to `WorldView.place`. */
  get hidden(): number | undefined {
    const isInside = this.headset !== undefined || this.camera.nearness < HIDE_NEARER_M;
    return isInside ? this.#options.world.avatarId : undefined;
  }

  /**
   * Sends the input, samples the view for this frame, and moves the camera to the avatar. Call it before
   * `WorldView.place`, with the frame's time and the seconds since the previous one. `xr` is the frame of a headset.
   */
  update(nowMs: number, seconds: number, xr?: XRFrame): void {
    const { world, poses, view } = this.#options;
    this.#gamepad.poll(seconds);
    this.#touch?.poll();
    const { inputs, camera, headset } = this;
    const { turning, tilting } = this.#keyboard;
    const turn = TURN_PER_SECOND * seconds;
    headset?.read(xr, nowMs, seconds);
    if (!headset) camera.turn(inputs.lookYaw + turning * turn, inputs.lookPitch - (tilting * turn) / 2);
    camera.zoom(inputs.zoom);
    inputs.consumeLook();
    if (world.status === "open" && this.#faced === world.avatarId) {
      Object.assign(this.#input, inputs.combine());
      this.#input.yaw = camera.yaw;
      headset?.updateInput(this.#input);
      poses.input(this.#input);
    }
    view.sample(nowMs);
    this.#follow(seconds);
    const pitch = headset?.pitch ?? pitchBehind(camera);
    this.#pitch.update(world, lookPitch(pitch), nowMs);
    this.actions.update(seconds, pitch, world.status === "open");
    if (world.status === "open") headset?.act();
  }

  /** Releases all keys and buttons, for example because the chat takes the keyboard. */
  release(): void {
    this.#keyboard.clear();
    this.inputs.release();
  }

  /** Stops listening to the world. Listeners of the canvas end with the canvas. */
  dispose(): void {
    for (const release of this.#releases.splice(0)) release();
    this.actions.define([]);
    this.#keyboard.dispose();
  }

  #follow(seconds: number): void {
    const { world, view, poses } = this.#options;
    const { avatarId } = world;
    const turned = poses.carriedYaw - this.#carriedYaw;
    this.#carriedYaw = poses.carriedYaw;
    if (avatarId === undefined || !view.pose(avatarId, this.#pose)) {
      // A player without a body looks around from its last place.
      if (this.headset) this.headset.move(seconds, this.#pose);
      else this.#watch(seconds);
      return;
    }
    if (this.#faced !== avatarId) {
      this.#faced = avatarId;
      this.camera.faceEntity(world.avatar ?? UNTURNED);
      this.camera.jump();
      this.headset?.faceWith(this.camera.yaw);
    } else if (turned !== 0) {
      if (this.headset) this.headset.turnWith(turned);
      else this.camera.turn(turned, 0);
    }
    if (this.headset) return this.headset.move(seconds, this.#pose);
    if (this.#watch(seconds)) return;
    const member = view.scene.crowd.get(avatarId);
    const eyes = member ? EYES_M * member.size : (view.scene.get(avatarId)?.halfHeight ?? 0);
    const { x, y, z } = this.#pose;
    const except = member?.body.holding ?? avatarId;
    this.camera.isOverShoulder = member?.body.holding !== undefined;
    this.camera.follow(seconds, x, y + eyes, z, view.scene.obstacles, except);
  }

  /** Shows the entity or the place that the world's camera shows; returns false if that is the own avatar. */
  #watch(seconds: number): boolean {
    const { view } = this.#options;
    const { rules } = this.camera;
    if (rules === undefined || rules.mode === "first_person") return false;
    const pose = this.#watched;
    if (rules.on !== undefined && view.pose(rules.on, pose)) {
      const { x, y, z } = pose;
      const top = view.scene.get(rules.on)?.halfHeight ?? view.scene.crowd.get(rules.on)?.halfHeight ?? 0;
      this.camera.follow(seconds, x, y + top, z, view.scene.obstacles, rules.on);
      return true;
    }
    if (rules.mode !== "fixed") return false;
    this.camera.follow(seconds, this.#pose.x, this.#pose.y, this.#pose.z, view.scene.obstacles, undefined);
    return true;
  }

  #define(): void {
    const { world, hud } = this.#options;
    this.actions.define(world.definition?.actions ?? []);
    const { bindings, keys } = this.actions;
    this.inputs.claimed = keys;
    this.inputs.padTriggers = shareOutButtons(
      bindings.map(({ action, charge }) => ({ trigger: buttonOf(action), isCharged: charge !== undefined })),
    );
    hud?.setActions(bindings);
  }

  #createActions(): Actions {
    const { canvas, world, poses, view, camera, hud } = this.#options;
    return new Actions({
      findTarget: (rule) => {
        const { actor } = this;
        if (!actor) return undefined;
        if (this.headset) return this.headset.findTarget(actor, rule);
        const { left, top, width, height } = canvas.getBoundingClientRect();
        const { x, y } = this.#touch?.pointer ??
          this.#mouse.pointer ?? { x: left + width / 2, y: top + height / 2 };
        this.#ahead.set(((x - left) / width) * 2 - 1, 1 - ((y - top) / height) * 2, 0.5);
        camera.updateMatrixWorld();
        const direction = this.#ahead.unproject(camera).sub(camera.position).normalize();
        const { all, crowd } = view.scene;
        return findTarget(actor, { origin: camera.position, direction }, rule, all, crowd.members);
      },
      has: (attribute) =>
        attribute === "holding" ? poses.holding !== undefined : Boolean(world.avatar?.attributes[attribute]),
      // Rejections are ignored: the page shows a lost connection by the world's status.
      send: (action, args) => void poses.act(action, args).catch(() => undefined),
      showCharge: (share) => hud?.setCharge(share),
      showOffers: (offers) => hud?.setPrompts(offers, this.actions?.possible ?? []),
      highlight: (target) => view.scene.highlight(target),
    });
  }
}
