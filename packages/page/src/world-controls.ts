import type { WorldView } from "@nowcast/three";
import { type Emote, packEmote, type WorldScene } from "@nowcast/three/internal";
import type { PlayerId } from "nowcast/world";
import { type PerspectiveCamera, Vector3 } from "three";
import { type Actions, buttonOf, lookPitch } from "./actions.js";
import { createAimedActions } from "./aimed-actions.js";
import { OrbitCamera } from "./camera.js";
import type { ControlsDisplay } from "./hud/controls-display.js";
import type { NamedControls } from "./hud/key-hints.js";
import { helpLines } from "./hud/key-hints.js";
import { Devices } from "./input/devices.js";
import { shareOutButtons } from "./input/gamepad.js";
import { GyroscopeToggle } from "./input/gyroscope-toggle.js";
import { type Command, InputCollector } from "./input/input-collector.js";
import { LocalAvatar } from "./local-avatar.js";
import { PitchSender, pitchBehind } from "./pitch.js";
import type { Actor } from "./targets.js";
import { pageTexts } from "./texts.js";
import { voicePageOf } from "./voice/voice-page.js";
import { VoiceToggle } from "./voice/voice-toggle.js";
import { beginHeadset } from "./xr/begin-headset.js";
import type { Headset, HeadsetPage, HeadsetStage } from "./xr/headset.js";

const EARS = new Vector3();
const AHEAD = new Vector3();
/** Maximum time for which the last picture stays after a resumption, if the avatar does not arrive. */
const RESUMING_MS_MAX = 1_000;

export interface WorldControlsOptions {
  /** The element that receives mouse and touch. It gets a `tabindex` so that it can take the keyboard. */
  readonly canvas: HTMLCanvasElement;
  readonly view: WorldView;
  readonly camera: PerspectiveCamera;
  /** Shows prompts, charges and buttons, such as `WorldHud`. Voices and the gyroscope need one. */
  readonly hud?: ControlsDisplay | undefined;
  /** Servers that return a page's public address, for voices across networks. */
  readonly iceServers?: readonly RTCIceServer[] | undefined;
}

/** Controls of a page that begins outside of worlds, and draws all of them in one scene. */
interface OutsideOptions extends Omit<WorldControlsOptions, "view"> {
  readonly scene: WorldScene;
}

/**
 * Controls the local player. Converts keyboard, mouse, touch, gamepad and headset to input of the local avatar and, by the
 * author's bindings, to actions of the world. The camera follows the avatar without a frame of lag.
 */
export class WorldControls {
  readonly inputs: InputCollector;
  readonly actions: Actions;
  readonly devices: Devices;
  readonly camera: OrbitCamera;
  readonly avatar: LocalAvatar;
  readonly canvas: HTMLCanvasElement;
  readonly scene: WorldScene;
  readonly hud: ControlsDisplay | undefined;
  readonly voice: VoiceToggle | undefined;
  /** The headset while the player wears one. */
  headset: Headset | undefined;
  #view: WorldView | undefined;
  readonly #gyroscope: GyroscopeToggle | undefined;
  readonly #pitch = new PitchSender();
  readonly #abort = new AbortController();
  #left = new AbortController();
  /** The time of a resumption, until the avatar has arrived. */
  #resumedAtMs: number | undefined;
  /** The number of shown gestures, so that the same gesture again is another value. */
  #emotes = 0;

  constructor(options: WorldControlsOptions | OutsideOptions) {
    const { canvas, camera, hud, iceServers } = options;
    this.canvas = canvas;
    this.hud = hud;
    this.scene = "scene" in options ? options.scene : options.view.scene;
    if (canvas.tabIndex < 0) canvas.tabIndex = 0;
    this.camera = new OrbitCamera(camera);
    this.inputs = new InputCollector({
      command: (command) => this.#run(command),
      press: (trigger, waits) => this.actions.press(trigger, waits),
      stroke: (trigger) => this.actions.stroke(trigger),
      release: (trigger) => this.actions.release(trigger),
      cancel: () => this.actions.cancel(),
    });
    const { inputs } = this;
    this.devices = new Devices(canvas, inputs, hud?.stick, hud?.knob);
    this.avatar = new LocalAvatar(this);
    this.actions = createAimedActions(this, this.#abort.signal);
    if (hud) {
      this.voice = new VoiceToggle(hud.voice, voicePageOf(this, hud), iceServers);
      this.#gyroscope = new GyroscopeToggle(hud.gyroscope, inputs, (text) => hud.say(text));
      this.#connect(hud);
    }
    // No frames are drawn while the page is hidden, so the released keys must be sent here.
    const hidden = (): void => {
      this.release();
      this.avatar.sendInput();
    };
    document.addEventListener("visibilitychange", hidden, { signal: this.#abort.signal });
    if ("view" in options) this.enter(options.view);
  }

  /** The drawn world; `undefined` while the page is in none. */
  get view(): WorldView | undefined {
    return this.#view;
  }

  /** The entity that the local player's input moves, as it is shown: a walking player or another entity. */
  get actor(): Actor | undefined {
    return this.avatar.actor;
  }

  /**
   * Whether the page keeps its last picture, because the world of a resumed player arrives anew, for example after the
   * room has moved to another server. A headset draws on, because its picture must follow the head.
   */
  get isResuming(): boolean {
    return this.#resumedAtMs !== undefined && this.headset === undefined;
  }

  /** The place that the camera follows: the avatar's, or that of a player without one. */
  get focus(): { readonly x: number; readonly y: number; readonly z: number } {
    return this.avatar.actor?.position ?? this.avatar.watched;
  }

  /** Plays in a world, instead of in the previous one. */
  enter(view: WorldView): void {
    this.#forget();
    this.#view = view;
    const { world } = view;
    this.#left = new AbortController();
    const { signal } = this.#left;
    world.on("define", () => this.#define(), { signal });
    world.on("welcome", ({ isResumed }) => this.#restart(isResumed), { signal });
    world.on("event", ({ name, payload }) => void this.voice?.handleEvent(name, payload), { signal });
    world.on("chat", ({ from, text }) => this.#speak(from, text), { signal });
    this.#define();
    world.frame(performance.now());
  }

  /** Leaves the world: its actions, voices, and the headset end. */
  leave(): void {
    void this.headset?.end();
    this.voice?.end();
    this.scene.sightline.watch(undefined, undefined);
    this.#forget();
    this.avatar.watched.set(0, 1.5, 0);
    this.#view = undefined;
  }

  /**
   * Runs the world's part of a frame: sends the input, moves all entities to their poses, and the camera to the avatar. Pass the
   * frame's time and the seconds since the previous one. `xr` is the frame of a headset.
   */
  update(nowMs: number, seconds: number, xr?: XRFrame): void {
    const { inputs, camera, headset, devices, avatar, scene } = this;
    const view = this.#view;
    devices.poll(seconds);
    headset?.read(xr, nowMs, seconds);
    if (!headset) devices.look(camera, seconds);
    inputs.consumeLook();
    scene.eye = headset ? undefined : camera.lens.position;
    if (!view) return;
    const { world } = view;
    avatar.sendInput();
    world.frame(nowMs);
    view.place(seconds, avatar.hidden);
    if (this.#resumedAtMs !== undefined && (avatar.isShown || nowMs > this.#resumedAtMs + RESUMING_MS_MAX))
      this.#resumedAtMs = undefined;
    if (!this.isResuming) avatar.follow(seconds, view);
    scene.sightline.watch(camera.lens, headset ? undefined : avatar.watchedPerson);
    const isOpen = world.status === "open";
    const pitch = headset?.pitch ?? pitchBehind(camera);
    this.#pitch.update(world, lookPitch(pitch), nowMs);
    this.actions.update(seconds, pitch, isOpen);
    if (isOpen) headset?.act();
    this.voice?.update(nowMs, camera.lens.getWorldPosition(EARS), camera.lens.getWorldDirection(AHEAD));
  }

  /** Releases all keys and buttons, for example because the chat takes the keyboard. */
  release(): void {
    this.devices.release();
  }

  /** Shows a gesture of the avatar to all players, if its kind has gestures. */
  emote(emote: Emote): void {
    const world = this.#view?.world;
    const avatar = world?.avatar;
    const { walker, attributes = [] } = avatar?.kind ?? {};
    const has = walker && attributes.some(({ name, type }) => name === "emote" && type === "u16");
    if (!avatar || !has) return this.hud?.say(pageTexts.noEmotes);
    this.#emotes++;
    world?.set(avatar.id, { emote: packEmote(emote, this.#emotes) });
  }

  /** Turns the camera to a player's avatar, and shows the distance. */
  find(player: PlayerId): void {
    const { actor, camera, hud, scene } = this;
    const known = this.#view?.world.players.get(player);
    const name = known?.name ?? pageTexts.guest;
    const id = known?.avatarId;
    const shown = id === undefined ? undefined : (scene.crowd.get(id) ?? scene.get(id));
    if (!shown || !actor) return hud?.say(pageTexts.isOutOfSight(name));
    const { x, z } = shown.position;
    camera.yaw = Math.atan2(actor.position.x - x, actor.position.z - z);
    hud?.say(pageTexts.isAway(name, Math.round(shown.position.distanceTo(actor.position))));
  }

  /**
   * Shows the world in a headset. Call it in the handler of a click, because browsers allow it only there. Rejected if the
   * browser has no headset, or the user refuses.
   */
  async enterHeadset(stage: HeadsetStage): Promise<void> {
    const headset = await beginHeadset(this.#headsetPage(stage));
    if (headset.isOver) return;
    this.headset = headset;
    this.avatar.forget();
    this.hud?.setPrompts([], []);
  }

  /** Leaves the world, and stops listening to the devices. Listeners of the canvas end with the canvas. */
  dispose(): void {
    this.leave();
    this.#abort.abort();
    this.#gyroscope?.end();
    this.devices.dispose();
  }

  #forget(): void {
    this.#left.abort();
    this.avatar.forget();
    this.#setActions([]);
  }

  #connect(hud: ControlsDisplay): void {
    const { inputs, devices } = this;
    devices.onUnknownPad = (name) => hud.say(pageTexts.unknownPad(name));
    devices.onChange = () => hud.setDevice(devices.inUse);
    hud.listener = {
      press: (trigger) => inputs.press(trigger),
      release: (trigger) => inputs.lift(trigger),
      jump: (isDown) => {
        inputs.touch.jump = isDown;
      },
      do: (command) => inputs.do(command),
      emote: (emote) => this.emote(emote),
      controls: () => this.#named,
      say: (text) => this.#say(hud, text),
      done: () => this.canvas.focus({ preventScroll: true }),
      find: (player) => this.find(player as PlayerId),
      colorOf: (avatar) => this.scene.crowd.colorOf(avatar),
      choose: (player, choice) => this.voice?.choose(player, choice),
    };
    hud.setDevice(devices.inUse);
  }

  /** The controls, for sentences that name them. */
  get #named(): NamedControls {
    const { actions, inputs, devices } = this;
    const { keymap, padTriggers } = inputs;
    return { bindings: actions.bindings, device: devices.inUse, keymap, padTriggers };
  }

  /**
   * Sends a line of chat. The page answers `/help` with its keys, and the server with the commands of the world that this
   * player may give. A world without commands would send the line to all players, so the page keeps it.
   */
  #say({ chat, movement }: ControlsDisplay, text: string): void {
    const world = this.#view?.world;
    const isHelp = /^\/help\b/i.test(text);
    if (/^\/help\s*$/i.test(text)) {
      for (const line of helpLines(this.#named, movement)) chat.addEvent(line);
    }
    if (!isHelp || this.actions.commands.length > 0) world?.chat(text);
  }

  /** Runs the command of a key. Outside of worlds, commands have no effect. */
  #run(command: Command): void {
    if (!this.#view) return;
    if (command === "escape") this.actions.cancel();
    if (command === "chat") this.release();
    this.hud?.run(command);
  }

  /** Another server, with other actions, may answer after a reconnect. A resumed player keeps the view. */
  #restart(isResumed: boolean): void {
    this.#setActions([]);
    if (isResumed) {
      this.#resumedAtMs = performance.now();
      return;
    }
    this.avatar.forget();
    this.camera.jump();
  }

  #define(): void {
    this.#setActions(this.#view?.world.definition?.actions ?? []);
  }

  /** Shows a line of chat over the avatar of its player, unless the user has blocked the player. */
  #speak(from: PlayerId, text: string): void {
    const avatar = this.#view?.world.players.get(from)?.avatarId;
    if (avatar === undefined || this.hud?.peopleList.isBlocked(from)) return;
    this.scene.labels.say(avatar, text, performance.now());
  }

  #setActions(declared: Parameters<Actions["define"]>[0]): void {
    this.actions.define(declared);
    const { bindings, keys } = this.actions;
    this.inputs.claimed = keys;
    this.inputs.padTriggers = shareOutButtons(
      bindings.map(({ action, charge }) => ({ trigger: buttonOf(action), isCharged: charge !== undefined })),
    );
    this.hud?.setActions(bindings);
  }

  #headsetPage(stage: HeadsetStage): HeadsetPage {
    const controls = this;
    const { scene, actions, inputs, camera: orbit } = this;
    const { renderer, root, rig } = stage;
    return {
      ...{ renderer, root, rig, scene, actions, inputs, orbit, camera: orbit.lens },
      get world() {
        return controls.view?.world;
      },
      get comfort() {
        return stage.comfort;
      },
      get texts() {
        return { chat: controls.hud?.chat.latest ?? [], notice: controls.hud?.notice ?? "" };
      },
      flipMicrophone: () => void this.voice?.flipMicrophone(),
      ended: () => {
        if (this.actor) orbit.face(this.actor);
        this.headset = undefined;
        orbit.jump();
        stage.ended?.();
      },
    };
  }
}
