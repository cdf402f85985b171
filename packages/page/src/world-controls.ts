import type { WorldView } from "@nowcast/three";
import type { World } from "nowcast/world";
import type { PerspectiveCamera } from "three";
import { type Actions, buttonOf, lookPitch } from "./actions.js";
import { createAimedActions } from "./aimed-actions.js";
import { OrbitCamera } from "./camera.js";
import type { WorldHud } from "./hud/world-hud.js";
import { Devices } from "./input/devices.js";
import { shareOutButtons } from "./input/gamepad.js";
import { InputCollector } from "./input/input-collector.js";
import { LocalAvatar } from "./local-avatar.js";
import { PitchSender, pitchBehind } from "./pitch.js";
import type { Actor } from "./targets.js";
import { pageTexts } from "./texts.js";
import type { Headset } from "./xr/headset.js";

export interface WorldControlsOptions {
  /** The element that receives mouse and touch. It gets a `tabindex` so that it can take the keyboard. */
  readonly canvas: HTMLCanvasElement;
  readonly world: World;
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
  readonly devices: Devices;
  readonly camera: OrbitCamera;
  readonly avatar: LocalAvatar;
  /** The headset while the player wears one: `Headset` of `@nowcast/page/headset`. */
  headset: Headset | undefined;
  readonly #options: WorldControlsOptions;
  readonly #pitch = new PitchSender();
  readonly #releases: (() => void)[] = [];

  constructor(options: WorldControlsOptions) {
    const { canvas, world, view, camera, hud } = options;
    this.#options = options;
    if (canvas.tabIndex < 0) canvas.tabIndex = 0;
    // The whole page shows that the world has the keyboard.
    canvas.style.outline = "none";
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
    this.devices = new Devices(canvas, this.inputs, hud?.stick, hud?.knob);
    const { inputs, devices } = this;
    devices.onUnknownPad = (name) => hud?.say(pageTexts.unknownPad(name));
    const controls = this;
    this.avatar = new LocalAvatar({
      ...{ view, scene: view.scene, camera: this.camera, inputs },
      get headset() {
        return controls.headset;
      },
    });
    this.actions = this.#createActions();
    if (hud) {
      hud.listener = {
        press: (trigger) => inputs.press(trigger),
        release: (trigger) => inputs.lift(trigger),
        jump: (isDown) => {
          inputs.touch.jump = isDown;
        },
        done: () => canvas.focus({ preventScroll: true }),
      };
    }
    // No frames are drawn while the page is hidden, so the released keys must be sent here.
    const hidden = (): void => {
      devices.release();
      this.avatar.sendInput();
    };
    document.addEventListener("visibilitychange", hidden);
    this.#releases.push(
      () => document.removeEventListener("visibilitychange", hidden),
      world.on("define", () => this.#define()),
      world.on("welcome", ({ isResumed }) => isResumed || this.avatar.forget()),
    );
    this.#define();
    world.frame(performance.now());
  }

  /** The entity that the local player's input moves, as it is shown: a walking player or another entity. */
  get actor(): Actor | undefined {
    return this.avatar.actor;
  }

  /** The avatar that would fill the picture: pass it to `WorldView.place`. */
  get hidden(): number | undefined {
    return this.avatar.hidden;
  }

  /**
   * Sends the input, samples the view for this frame, and moves the camera to the avatar. Call it before
   * `WorldView.place`, with the frame's time and the seconds since the previous one. `xr` is the frame of a headset.
   */
  update(nowMs: number, seconds: number, xr?: XRFrame): void {
    const { world, view } = this.#options;
    const { inputs, camera, headset, devices } = this;
    devices.poll(seconds);
    headset?.read(xr, nowMs, seconds);
    if (!headset) devices.look(camera, seconds);
    inputs.consumeLook();
    this.avatar.sendInput();
    world.frame(nowMs);
    this.avatar.follow(seconds, view);
    const isOpen = world.status === "open";
    const pitch = headset?.pitch ?? pitchBehind(camera);
    this.#pitch.update(world, lookPitch(pitch), nowMs);
    this.actions.update(seconds, pitch, isOpen);
    if (isOpen) headset?.act();
  }

  /** Releases all keys and buttons, for example because the chat takes the keyboard. */
  release(): void {
    this.devices.release();
  }

  /** Stops listening to the world. Listeners of the canvas end with the canvas. */
  dispose(): void {
    for (const release of this.#releases.splice(0)) release();
    this.actions.define([]);
    this.devices.dispose();
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
    const { canvas, world, view, camera, hud } = this.#options;
    const controls = this;
    return createAimedActions({
      ...{ canvas, world, camera, scene: view.scene, devices: this.devices },
      get headset() {
        return controls.headset;
      },
      get own() {
        return controls.actor;
      },
      showCharge: (share) => hud?.setCharge(share),
      showOffers: (offers, others) => hud?.setPrompts(offers, others),
    });
  }
}
