import { createPose, type Frame, type Member, WorldScene, wrapAngle, yawOf } from "@nowcast/three";
import { Vector3 } from "three";
import { Actions, buttonOf } from "./actions.js";
import { OrbitCamera } from "./camera.js";
import { ChatPanel } from "./chat/chat-panel.js";
import { element } from "./dom.js";
import { Figures } from "./hud/figures.js";
import { Hud } from "./hud/hud.js";
import { helpLines, KeyBar, promptFor } from "./hud/key-hints.js";
import { PastPanel } from "./hud/past-panel.js";
import { PictureLost } from "./hud/picture-lost.js";
import { RulesConsole } from "./hud/rules-console.js";
import { Screens } from "./hud/screens.js";
import { createDevices, type Devices } from "./input/devices.js";
import type { Gyroscope } from "./input/gyroscope.js";
import { type Command, type Input, InputCollector } from "./input/input-collector.js";
import { People } from "./people.js";
import {
  automaticQuality,
  isSoftwareRenderer,
  type Quality,
  qualityFor,
  ResolutionGovernor,
} from "./scene/quality.js";
import { probeRenderer, Stage } from "./scene/stage.js";
import { type Settings, saveSettings } from "./settings.js";
import { Sounds } from "./sounds.js";
import { Backdrop } from "./start/backdrop.js";
import { type Actor, findTarget } from "./targets.js";
import { voicePageOf } from "./voice/voice-page.js";
import { VoiceToggle } from "./voice/voice-toggle.js";
import { words } from "./words.js";
import { type Entry, WorldConnection } from "./world-connection.js";
import { type EventParts, WorldEvents } from "./world-events.js";
import type { XrSession } from "./xr/xr-session.js";

const TURN_PER_SECOND = 2.2;
/** Nearer than this the own avatar would fill the picture. */
const HIDE_NEARER_M = 1.15;
/** Height of the eyes above the centre of a person. */
const EYES_M = 0.62;
/** Speed of the camera for players without a body, in metres a second. */
const WATCHING_SPEED = 9;

/** The client: owns all its parts, brings the world's events to them, and offers the steps of a frame. */
export class Viewer implements EventParts {
  readonly stage: Stage;
  readonly scene: WorldScene;
  readonly camera: OrbitCamera;
  readonly inputs = new InputCollector({
    command: (command) => this.#command(command),
    press: (trigger, waits) => this.actions.press(trigger, waits),
    release: (trigger) => this.actions.release(trigger),
    cancel: () => this.actions.cancel(),
  });
  readonly hud: Hud;
  readonly figures: Figures;
  readonly actions: Actions;
  connection: WorldConnection | undefined;
  /** Set while a user wears a headset. */
  headset: XrSession | undefined;
  /** Called to leave this room for the start page. */
  onAnotherRoom: () => void = () => undefined;
  /** The world of the room is known: after entering, and after each reconnect. */
  onWelcome: (room: string, world: string) => void = () => undefined;
  /** Called to enter the present of the room instead of its history. */
  onPresent: () => void = () => undefined;
  /** Another moment of the past is shown, in ISO 8601. */
  onMoment: (time: string) => void = () => undefined;

  readonly people = new People();
  readonly voice: VoiceToggle;
  readonly chat: ChatPanel;
  readonly keyBar = new KeyBar((keys) => this.change({ keys }));
  readonly console = new RulesConsole();
  readonly screens = new Screens();
  readonly past: PastPanel;
  readonly sounds: Sounds;
  readonly devices: Devices;
  readonly #backdrop: Backdrop;
  readonly #events = new WorldEvents(this);
  #gyroscope: Gyroscope | undefined;
  #governor = new ResolutionGovernor(1);
  readonly #rendererName: string;
  readonly #stillness = window.matchMedia("(prefers-reduced-motion: reduce)");
  readonly #darkness = window.matchMedia("(prefers-color-scheme: dark)");
  readonly #input: Input = { forward: 0, right: 0, yaw: 0, run: false, jump: false };
  readonly #ahead = new Vector3();
  readonly #ears = new Vector3();
  /** The camera's target for players without a body. */
  readonly #watched = new Vector3(0, 1.5, 0);
  readonly #avatarPose = createPose();
  #quality: Quality;
  #seconds = 0;
  #address = "";
  #entry: Entry = {};
  /** The avatar that the camera faces with already. */
  #facedAvatar: number | undefined;
  #ownYaw = 0;

  constructor(
    canvas: HTMLCanvasElement,
    readonly settings: Settings,
    iceServers: readonly RTCIceServer[] = [],
  ) {
    this.#rendererName = probeRenderer();
    this.#quality = this.#chooseQuality();
    const pictureLost = new PictureLost();
    this.stage = new Stage(canvas, !isSoftwareRenderer(this.#rendererName), (isLost) =>
      pictureLost.show(isLost),
    );
    this.scene = new WorldScene({ detail: this.#quality, labels: element("labels", HTMLElement) });
    this.stage.scene.add(this.scene.group);
    this.sounds = new Sounds(this.scene.assets);
    this.camera = new OrbitCamera(this.stage.camera);
    this.hud = new Hud(canvas, { joinAgain: () => this.rejoin(), anotherRoom: () => this.onAnotherRoom() });
    this.figures = new Figures((visible) => this.change({ hud: visible }));
    this.chat = new ChatPanel(
      (text) => this.#say(text),
      () => canvas.focus({ preventScroll: true }),
    );
    this.past = new PastPanel({
      say: (line) => this.connection?.chat(line),
      moved: (atMs) => this.onMoment(new Date(atMs).toISOString()),
      leave: () => this.onPresent(),
    });
    this.devices = createDevices(canvas, this.inputs);
    this.actions = this.#createActions();
    this.voice = new VoiceToggle(voicePageOf(this), iceServers);
    this.#backdrop = new Backdrop(this.scene);
    window.addEventListener("resize", () => {
      if (!this.headset) this.stage.resize();
    });
    this.#darkness.addEventListener("change", () => this.#applySettings());
    // No frames are drawn while the page is hidden, so no other code would send that the keys are released.
    document.addEventListener("visibilitychange", () => {
      this.devices.release();
      this.sendInput();
    });
    // A session outlives its carrier. Without a close the avatar would stay until the server gives it up.
    window.addEventListener("pagehide", () => this.connection?.close());
    window.addEventListener("pageshow", (event) => {
      if (event.persisted && this.connection) this.rejoin();
    });
    this.#applySettings();
    this.#backdrop.show();
  }

  /** Enters a world, or enters it again with other options. */
  enter(address: string, room: string, shareAddress: string, entry: Entry): void {
    this.#address = address;
    this.#entry = entry;
    this.#backdrop.hide();
    this.hud.show(room, shareAddress);
    this.figures.setVisible(this.settings.hud);
    this.keyBar.setVisible(this.settings.keys);
    document.body.classList.remove("outside");
    this.rejoin();
  }

  /** Leaves the world. The caller shows the start screen again. */
  leave(): void {
    void this.headset?.end();
    this.voice.end();
    this.connection?.close();
    this.connection = undefined;
    this.#clear();
    this.chat.clear();
    this.hud.hide();
    document.body.classList.add("outside");
    this.#backdrop.show();
  }

  rejoin(): void {
    this.connection?.close();
    this.connection = undefined;
    this.#clear();
    const { name, transport, networkHz } = this.settings;
    this.connection = new WorldConnection(
      this.#address,
      { name, transport, networkHz, ...this.#entry },
      this.#events,
      this.scene,
      (avatar) => (avatar === this.#facedAvatar ? this.camera.yaw : undefined),
    );
    this.hud.setStatus(this.connection.status);
  }

  /** Applies and stores new settings; the world is joined again only if necessary. */
  change(changes: Partial<Settings>): void {
    const before = { ...this.settings };
    Object.assign(this.settings, changes);
    saveSettings(this.settings);
    this.#applySettings();
    if (!this.connection) return;
    if (before.transport !== this.settings.transport) {
      this.rejoin();
      return;
    }
    if (before.name !== this.settings.name && this.settings.name !== "")
      this.connection.rename(this.settings.name);
    if (before.networkHz !== this.settings.networkHz) {
      // The protocol has no value for the default, so a new connection omits the rate.
      if (this.settings.networkHz === 0) this.rejoin();
      else this.connection.setRate(this.settings.networkHz);
    }
  }

  /** Turns looking by moving the phone on or off; returns whether it is on, and shows why not. */
  async lookByGyroscope(isWanted: boolean): Promise<boolean> {
    this.#gyroscope?.end();
    this.#gyroscope = undefined;
    if (!isWanted) return false;
    const { Gyroscope } = await import("./input/gyroscope.js");
    const gyroscope = new Gyroscope(this.inputs);
    const state = await gyroscope.begin();
    if (state === "on") this.#gyroscope = gyroscope;
    else this.hud.say(words.gyroscopeStates[state]);
    return state === "on";
  }

  /** A headset shows the world from now on. */
  headsetBegan(headset: XrSession): void {
    if (headset.isOver) return;
    this.headset = headset;
    this.#facedAvatar = undefined;
    this.hud.setPrompt("");
  }

  /** The page shows the world again, as before. */
  headsetEnded(): void {
    if (this.own) this.camera.face(this.own);
    this.headset = undefined;
    this.stage.resize();
    this.camera.jump();
  }

  /** The last lines of chat, the oldest first. */
  get latestChat(): readonly string[] {
    return this.chat.latest;
  }

  /** The page's present message, such as that the connection is lost. */
  get notice(): string {
    return this.hud.notices;
  }

  describeMachine(): string {
    return words.machine(this.#quality.name, this.#rendererName);
  }

  readDevices({ nowMs, seconds, xr }: Frame): void {
    this.devices.poll(seconds);
    this.headset?.read(xr, nowMs, seconds);
    const { inputs, camera } = this;
    if (this.headset) return inputs.consumeLook();
    camera.turn(inputs.lookYaw + this.devices.turning * TURN_PER_SECOND * seconds, inputs.lookPitch);
    camera.zoom(inputs.zoom);
    inputs.consumeLook();
  }

  sendInput(): void {
    if (!this.connection || this.connection.status !== "open" || this.connection.avatar !== this.#facedAvatar)
      return;
    Object.assign(this.#input, this.inputs.combine());
    this.#input.yaw = this.camera.yaw;
    this.headset?.updateInput(this.#input);
    this.connection.setInput(this.#input);
  }

  samplePoses(nowMs: number): void {
    this.connection?.sample(nowMs);
  }

  placeProps(): void {
    if (this.connection) this.scene.placeProps(this.connection);
  }

  animatePeople(seconds: number): void {
    const { connection, scene } = this;
    if (connection) {
      scene.placePeople(connection);
    } else {
      this.#backdrop.animate(this.#seconds);
    }
    const isInside = this.headset !== undefined || this.camera.nearness < HIDE_NEARER_M;
    const hidden = isInside ? connection?.avatar : undefined;
    scene.animate(seconds, hidden);
  }

  moveCamera(seconds: number): void {
    const { own, camera, scene } = this;
    if (!this.connection) {
      this.#backdrop.aim(this.stage.camera, this.#stillness.matches ? 0 : this.#seconds);
      return;
    }
    if (own) {
      if (this.#facedAvatar !== own.id) this.#faceWith(own);
      const member = this.ownMember;
      const eyes = member ? EYES_M * member.size : own.halfHeight;
      if (!member) this.#turnWith(own);
      if (this.headset) return this.headset.move(seconds, own);
      camera.follow(seconds, own.x, own.y + eyes, own.z, scene.obstacles, member?.body.holding ?? own.id);
    } else {
      this.#lookAround(this.connection, seconds);
      const { x, y, z } = this.#watched;
      if (this.headset) return this.headset.move(seconds, this.#watched);
      camera.follow(seconds, x, y, z, scene.obstacles, undefined);
    }
  }

  updateActions(seconds: number): void {
    const canAct = this.connection?.status === "open";
    this.actions.update(seconds, this.headset?.pitch ?? this.camera.pitch, canAct);
    if (canAct) this.headset?.act();
  }

  updateScene(seconds: number): void {
    this.#seconds += seconds;
    this.stage.surroundings.update(this.#stillness.matches ? 0 : this.#seconds);
    this.stage.surroundings.setSea(this.scene.sea);
    const focus = this.own ?? (this.connection ? this.#watched : this.#backdrop.focus);
    this.stage.aimSun(focus.x, focus.y, focus.z);
    const position = this.stage.camera.getWorldPosition(this.#ears);
    const { x, y, z } = this.stage.camera.getWorldDirection(this.#ahead);
    this.sounds.listenAt(position.x, position.y, position.z, x, y, z);
    this.voice.update(performance.now(), position, this.#ahead);
  }

  updateLabels(nowMs: number): void {
    if (this.headset) {
      this.scene.labels.hide(nowMs);
      return this.headset.write(this.connection?.avatar);
    }
    this.scene.updateLabels(nowMs, this.stage.camera, this.connection?.avatar);
  }

  updateFigures(frameMs: number): void {
    if (!this.connection) return;
    this.screens.update(this.connection.screen);
    const nowMs = performance.now();
    this.hud.connection.update(this.connection.status, this.connection.world.connection);
    this.past.animate(nowMs);
    this.figures.update(frameMs, this.connection);
  }

  render(): void {
    this.stage.render(this.scene.takeChanged());
  }

  /** Headsets keep their rate by other means, and changes of the resolution would be visible. */
  governResolution(frameMs: number): void {
    if (this.headset) return;
    if (this.settings.quality !== "auto" || !this.#governor.frame(frameMs)) return;
    this.stage.setPixelRatio(this.#governor.effective);
  }

  /** The own body, if it is a walking player. */
  get ownMember(): Member | undefined {
    const id = this.connection?.avatar;
    return id === undefined ? undefined : this.scene.crowd.get(id);
  }

  /** The entity that the own input moves, as it is shown: a walking player or another entity. */
  get own(): Actor | undefined {
    const id = this.connection?.avatar;
    return this.ownMember ?? (id === undefined ? undefined : this.scene.get(id));
  }

  #faceWith(own: Actor): void {
    this.#facedAvatar = own.id;
    this.#ownYaw = yawOf(own);
    this.camera.face(own);
    this.camera.jump();
    this.headset?.faceWith(own);
  }

  /** The camera of a driver turns with the vehicle. */
  #turnWith(own: Actor): void {
    const yaw = yawOf(own);
    const turned = wrapAngle(yaw - this.#ownYaw);
    if (this.headset) this.headset.turnWith(turned);
    else this.camera.turn(turned, 0);
    this.#ownYaw = yaw;
  }

  /** Players without a drawn body move the camera's target by their input. */
  #lookAround(connection: WorldConnection, seconds: number): void {
    const { avatar } = connection;
    if (avatar !== undefined) {
      if (!connection.pose(avatar, this.#avatarPose)) return;
      this.#facedAvatar = avatar;
      this.#watched.set(this.#avatarPose.x, this.#avatarPose.y, this.#avatarPose.z);
      return;
    }
    this.#facedAvatar = undefined;
    const { forward, right, run } = this.inputs.combine();
    const metres = WATCHING_SPEED * (run ? 2 : 1) * seconds;
    const [sin, cos] = [Math.sin(this.camera.yaw), Math.cos(this.camera.yaw)];
    this.#watched.x += (right * cos - forward * sin) * metres;
    this.#watched.z += (-right * sin - forward * cos) * metres;
  }

  #createActions(): Actions {
    return new Actions({
      findTarget: (rule) => {
        const { own, scene, stage } = this;
        if (!own) return undefined;
        if (this.headset) return this.headset.findTarget(own, rule);
        // The mouse points at the target, or else the middle of the picture does.
        const { x, y } = this.devices.pointer ?? { x: window.innerWidth / 2, y: window.innerHeight / 2 };
        const aim = { origin: stage.camera.position, direction: stage.directionAt(x, y, this.#ahead) };
        return findTarget(own, aim, rule, scene.all, scene.crowd.members);
      },
      has: (attribute) => this.connection?.hasAttribute(attribute) ?? false,
      send: (action, args) => this.connection?.act(action, args),
      showCharge: (share) => this.hud.setCharge(share),
      showOffers: (offers) => {
        this.hud.setPrompt(this.devices.touching ? "" : promptFor(offers));
        if (this.devices.touching)
          this.devices.markButtons(new Set(offers.map(({ action }) => buttonOf(action))));
      },
      highlight: (target) => this.scene.highlight(target),
    });
  }

  #command(command: Command): void {
    if (!this.connection) return;
    switch (command) {
      case "chat":
        this.devices.release();
        return this.chat.open();
      case "hud":
        return this.figures.flip();
      case "console":
        return this.console.flip();
      case "help":
        return this.keyBar.flip();
      case "escape":
        return this.actions.cancel();
    }
  }

  restart(room: string, world: string): void {
    this.#clear();
    this.console.clear();
    this.camera.jump();
    this.onWelcome(room, world);
  }

  /** The page answers `/help` itself, because the server would send it to all players. */
  #say(text: string): void {
    if (!/^\/help\b/i.test(text)) return this.connection?.chat(text);
    for (const line of helpLines(this.keyBar.hints)) this.chat.addEvent(line);
  }

  #clear(): void {
    this.scene.clear();
    this.people.clear();
    this.actions.define([]);
    this.inputs.claimed = this.actions.keys;
    this.#facedAvatar = undefined;
    this.screens.invalidate();
    this.past.update(undefined);
  }

  #chooseQuality(): Quality {
    const { quality, shadows } = this.settings;
    const coarse = window.matchMedia("(pointer: coarse)").matches;
    const name = quality === "auto" ? automaticQuality(this.#rendererName, coarse) : quality;
    return qualityFor(name, window.devicePixelRatio || 1, shadows);
  }

  #applySettings(): void {
    const { light, invertLook, lookSpeed, sound } = this.settings;
    this.#quality = this.#chooseQuality();
    this.#governor = new ResolutionGovernor(this.#quality.pixelRatio);
    this.stage.setQuality(this.#quality);
    this.scene.setDetail(this.#quality);
    this.stage.setLook(light === "auto" ? (this.#darkness.matches ? "dusk" : "day") : light);
    this.inputs.invertLook = invertLook;
    this.inputs.lookSpeed = lookSpeed;
    this.sounds.setOn(sound);
    document.body.classList.toggle("plain", this.#quality.name === "low");
  }
}
