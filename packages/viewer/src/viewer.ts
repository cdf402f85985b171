import { Lead, type Way } from "./avatar/lead.js";
import { OrbitCamera } from "./camera.js";
import { ChatPanel } from "./chat/chat-panel.js";
import { Hands } from "./hands.js";
import { Figures } from "./hud/figures.js";
import { Hud } from "./hud/hud.js";
import { type Action, Controls } from "./input/controls.js";
import { createDevices, type Devices } from "./input/devices.js";
import { type Body, type Entry, Net, type Pose, type Status, type Steering } from "./net.js";
import {
  automaticQuality,
  isSoftwareRenderer,
  type Quality,
  qualityFor,
  ResolutionGovernor,
} from "./scene/quality.js";
import { probeRenderer, Stage } from "./scene/stage.js";
import { type Settings, saveSettings } from "./settings.js";
import { SharedScene } from "./shared-scene.js";
import { Backdrop } from "./start/backdrop.js";

const TURN_PER_SECOND = 2.2;
/** Nearer than this the own avatar would fill the picture. */
const HIDE_NEARER_M = 1.15;
/** Half the width of a person, and how high from the centre down to the shins: what stands there is walked into. */
const WIDTH_HALF_M = 0.35;
const SHINS_M = 0.3;
/** As high as ground may lie above or below for a lead to follow it. */
const STEP_M_MAX = 0.6;
/** From the middle of a frame and of a sending interval to the server's step. */
const STEERING_MS = 25;
/** Whoever spawns this soon after the welcome was there before. */
const GREETING_MS = 1500;

/** The client: owns all its parts, brings the world's events to them, and offers the steps of a frame. */
export class Viewer {
  readonly stage: Stage;
  readonly scene: SharedScene;
  readonly camera: OrbitCamera;
  readonly controls = new Controls((action) => this.act(action));
  readonly hud: Hud;
  readonly figures: Figures;
  net: Net | undefined;

  private readonly chat: ChatPanel;
  private readonly hands: Hands;
  private readonly devices: Devices;
  private readonly backdrop: Backdrop;
  private governor = new ResolutionGovernor(1);
  private readonly rendererName: string;
  private readonly stillness = window.matchMedia("(prefers-reduced-motion: reduce)");
  private readonly darkness = window.matchMedia("(prefers-color-scheme: dark)");
  private readonly steering: Steering = { forward: 0, right: 0, yaw: 0, run: false, jump: false };
  private quality: Quality;
  private seconds = 0;
  private address = "";
  private readonly lead = new Lead();
  private entry: Entry = {};
  /** The camera looks where the avatar looks as soon as it is there. */
  private awaitsAvatar = false;
  private welcomedAtMs = 0;

  constructor(
    canvas: HTMLCanvasElement,
    readonly settings: Settings,
  ) {
    this.rendererName = probeRenderer();
    this.quality = this.chooseQuality();
    this.stage = new Stage(canvas, !isSoftwareRenderer(this.rendererName));
    this.scene = new SharedScene(this.quality);
    this.stage.scene.add(this.scene.group);
    this.camera = new OrbitCamera(this.stage.camera);
    this.hud = new Hud(() => this.rejoin());
    this.figures = new Figures((visible) => this.change({ hud: visible }));
    this.chat = new ChatPanel(
      (text) => this.net?.chat(text),
      () => canvas.focus({ preventScroll: true }),
    );
    this.devices = createDevices(canvas, this.controls, () => this.own?.held !== undefined);
    this.hands = new Hands(this.scene.boxes, this.hud, () => this.devices.touching);
    this.backdrop = new Backdrop(this.scene);
    window.addEventListener("resize", () => this.stage.resize());
    this.darkness.addEventListener("change", () => this.applySettings());
    // No frames are drawn while the page is hidden, so nobody else would tell the server that the keys are up.
    document.addEventListener("visibilitychange", () => {
      this.devices.release();
      this.sendSteering();
    });
    // A session outlives its carrier: without a word the avatar would stand about until the server gives up on it.
    window.addEventListener("pagehide", () => this.net?.close());
    window.addEventListener("pageshow", (event) => {
      if (event.persisted && this.net) this.rejoin();
    });
    this.applySettings();
    this.backdrop.show();
  }

  /** Enters a world, or enters it anew with other options. */
  enter(address: string, room: string, shareAddress: string, entry: Entry): void {
    this.address = address;
    this.entry = entry;
    this.backdrop.hide();
    this.hud.show(room, shareAddress);
    this.figures.setVisible(this.settings.hud);
    document.body.classList.remove("outside");
    this.rejoin();
  }

  /** Leaves the world; the start screen is shown again by whoever called this. */
  leave(): void {
    this.net?.close();
    this.net = undefined;
    this.clear();
    this.hud.hide();
    document.body.classList.add("outside");
    this.backdrop.show();
  }

  rejoin(): void {
    this.net?.close();
    this.clear();
    const { name, transport, networkHz } = this.settings;
    this.net = new Net(
      this.address,
      { name, transport, networkHz, ...this.entry },
      {
        statusChanged: (status) => this.statusChanged(status),
        welcomed: () => this.welcomed(),
        spawned: (body, pose) => this.spawned(body, pose),
        despawned: (id) => this.despawned(id),
        held: (avatar, block) => this.scene.crowd.setHeld(avatar, block),
        renamed: (id, newName) => this.renamed(id, newName),
        chatted: (from, speaker, text) => this.chatted(from, speaker, text),
        missed: (lines) => this.missed(lines),
        noticed: (text) => this.hud.say(text),
        snapshotArrived: (atMs) => this.snapshotArrived(atMs),
        lost: (error, retryInMs) => this.hud.lost(error, retryInMs),
      },
    );
    this.hud.setStatus(this.net.status);
  }

  /** Takes new settings, keeps them and puts them into force; the world is joined anew only where it must be. */
  change(changes: Partial<Settings>): void {
    const before = { ...this.settings };
    Object.assign(this.settings, changes);
    saveSettings(this.settings);
    this.applySettings();
    if (!this.net) return;
    if (before.transport !== this.settings.transport) {
      this.rejoin();
      return;
    }
    if (before.name !== this.settings.name && this.settings.name !== "") this.net.rename(this.settings.name);
    if (before.networkHz !== this.settings.networkHz) {
      // The protocol has no word for "as you like", so a fresh connection asks for nothing.
      if (this.settings.networkHz === 0) this.rejoin();
      else this.net.setRate(this.settings.networkHz);
    }
  }

  describeMachine(): string {
    return `Picture: ${this.quality.name} on ${this.rendererName}`;
  }

  readDevices(seconds: number): void {
    this.devices.poll(seconds);
    const { controls, camera } = this;
    camera.turn(controls.lookYaw + this.devices.turning * TURN_PER_SECOND * seconds, controls.lookPitch);
    camera.zoom(controls.zoom);
    controls.consumeLook();
  }

  sendSteering(): void {
    if (!this.net || this.net.status !== "open" || this.awaitsAvatar) return;
    Object.assign(this.steering, this.controls.combine());
    this.steering.yaw = this.camera.yaw;
    this.net.steer(this.steering);
  }

  samplePoses(nowMs: number): void {
    this.net?.sample(nowMs);
  }

  placeBlocks(): void {
    if (this.net) this.scene.placeBlocks(this.net);
  }

  animateAvatars(seconds: number): void {
    const { net, scene } = this;
    if (net) {
      scene.placeAvatars(net);
      this.turnOwnBody();
      this.leadOwnBody(net, seconds);
    } else {
      this.backdrop.animate(this.seconds);
    }
    const hidden = this.camera.nearness < HIDE_NEARER_M ? net?.avatar : undefined;
    scene.crowd.update(seconds, scene.boxes, hidden);
  }

  moveCamera(seconds: number): void {
    const { own, camera } = this;
    if (!this.net) {
      this.backdrop.aim(this.stage.camera, this.stillness.matches ? 0 : this.seconds);
    } else if (own) {
      if (this.awaitsAvatar) this.faceWith(own);
      camera.follow(seconds, own.x, own.y, own.z, this.scene.boxes, own.held);
    }
  }

  updateHands(seconds: number): void {
    this.hands.update(seconds, this.own);
  }

  updateScene(seconds: number): void {
    this.seconds += seconds;
    this.stage.surroundings.update(this.stillness.matches ? 0 : this.seconds);
    if (!this.net || this.own) this.scene.tendLawn();
    const focus = this.own ?? this.backdrop.focus;
    this.stage.aimSun(focus.x, focus.y, focus.z);
  }

  updateLabels(nowMs: number): void {
    this.scene.labels.update(nowMs, this.scene.crowd, this.stage.camera, this.net?.avatar);
  }

  updateFigures(frameMs: number): void {
    if (this.net) this.figures.update(frameMs, this.net);
  }

  render(): void {
    this.stage.render(this.scene.boxes.takeChanged() || this.scene.crowd.members.length > 0);
  }

  governResolution(frameMs: number): void {
    if (this.settings.quality !== "auto" || !this.governor.frame(frameMs)) return;
    this.stage.setPixelRatio(this.governor.effective);
  }

  private get own() {
    const id = this.net?.avatar;
    return id === undefined ? undefined : this.scene.crowd.get(id);
  }

  /**
   * One's own body turns with the camera at once instead of after a round trip: the server will set it to just this yaw.
   * A carried block is shown where the server had it, so whoever carries one is, too.
   */
  private turnOwnBody(): void {
    const { own } = this;
    if (!own || this.awaitsAvatar || own.held !== undefined) return;
    own.qx = own.qz = 0;
    own.qy = Math.sin(this.camera.yaw / 2);
    own.qw = Math.cos(this.camera.yaw / 2);
  }

  /** One's own steps are seen at once, too. Only the server knows where they lead: see {@link Lead}. */
  private leadOwnBody(net: Net, seconds: number): void {
    const { own } = this;
    if (!own || this.awaitsAvatar) return this.lead.reset();
    const { boxes } = this.scene;
    const { x, y, z } = own;
    const way: Way = (dx, dz) => boxes.cast(WIDTH_HALF_M, undefined, x, y - SHINS_M, z, dx, 0, dz);
    const steers = net.status === "open" && own.held === undefined;
    const delayMs = (net.stats.pingMs ?? 0) + net.delayMs + STEERING_MS;
    this.lead.update(seconds, steers ? this.steering : undefined, delayMs / 1000, way);
    own.x += this.lead.x;
    own.z += this.lead.z;
    // Stairs and slopes: as far above the ground as the server has it.
    const depth = (atX: number, atZ: number): number => boxes.cast(0, undefined, atX, y, atZ, 0, -1, 0);
    const rise = depth(x, z) - depth(own.x, own.z);
    if (Math.abs(rise) < STEP_M_MAX) own.y += rise;
  }

  private faceWith(own: { qx: number; qy: number; qz: number; qw: number }): void {
    this.awaitsAvatar = false;
    this.camera.face(own);
  }

  private act(action: Action): void {
    const { net, own } = this;
    if (!net) return;
    switch (action) {
      case "grab":
        return this.hands.grab(net, own);
      case "chargeStart":
        return this.hands.startCharge(own);
      case "chargeEnd":
        return this.hands.throwNow(net, own, this.camera.pitch);
      case "chargeCancel":
        return this.hands.cancelCharge();
      case "chat":
        this.devices.release();
        return this.chat.open();
      case "hud":
        return this.figures.flip();
      case "escape":
        return this.hands.cancelCharge();
    }
  }

  private statusChanged(status: Status): void {
    this.hud.setStatus(status);
    if (status !== "open") this.figures.graph.pause();
  }

  private welcomed(): void {
    this.awaitsAvatar = true;
    this.welcomedAtMs = performance.now();
    // The server that answers may be another than before, with another ground.
    this.clear();
    this.camera.jump();
  }

  private spawned(body: Body, pose: Pose): void {
    this.scene.add(body, pose);
    if (body.kind !== "avatar") return;
    this.hud.setPeople(this.scene.crowd.members.length);
    const isNew = performance.now() - this.welcomedAtMs > GREETING_MS;
    if (body.id !== this.net?.avatar && isNew) this.chat.addEvent(`${body.name} is here`);
  }

  private despawned(id: number): void {
    const member = this.scene.crowd.get(id);
    this.scene.remove(id);
    if (!member) return;
    this.hud.setPeople(this.scene.crowd.members.length);
    if (this.net?.status === "open" && id !== this.net.avatar) this.chat.addEvent(`${member.name} has left`);
  }

  private renamed(id: number, name: string): void {
    const member = this.scene.crowd.get(id);
    if (!member) return;
    this.chat.addEvent(`${member.name} is now ${name}`);
    member.name = name;
    this.scene.labels.rename(id, name);
  }

  private chatted(from: number, name: string, text: string): void {
    this.chat.add(name, this.scene.crowd.colorOf(from), text);
    this.scene.labels.say(from, text, performance.now());
  }

  private missed(lines: number): void {
    const what = lines === 1 ? "One line was" : `${lines} lines were`;
    this.chat.addEvent(`${what} left out, because this connection is too slow`);
  }

  private snapshotArrived(atMs: number): void {
    if (this.net) this.figures.graph.record(atMs, this.net.delayMs, this.net.stats.bytesPerSecond);
  }

  private clear(): void {
    this.scene.clear();
    this.hands.reset();
  }

  private chooseQuality(): Quality {
    const { quality, shadows } = this.settings;
    const coarse = window.matchMedia("(pointer: coarse)").matches;
    const name = quality === "auto" ? automaticQuality(this.rendererName, coarse) : quality;
    return qualityFor(name, window.devicePixelRatio || 1, shadows);
  }

  private applySettings(): void {
    const { light, invertLook, lookSpeed } = this.settings;
    this.quality = this.chooseQuality();
    this.governor = new ResolutionGovernor(this.quality.pixelRatio);
    this.stage.setQuality(this.quality);
    this.scene.setQuality(this.quality);
    this.stage.setLook(light === "auto" ? (this.darkness.matches ? "dusk" : "day") : light);
    this.controls.invertLook = invertLook;
    this.controls.lookSpeed = lookSpeed;
    document.body.classList.toggle("plain", this.quality.name === "low");
  }
}
