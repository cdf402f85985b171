import { atSoundChances, resume } from "../audio.js";
import { isOwnNetwork, withoutHostAddresses } from "./candidates.js";
import { Peer } from "./peer.js";
import { readSignal, type Signal, writeSignal } from "./signals.js";

/**
 * Distances in metres. Players nearer than the first are connected; players farther than the second are disconnected.
 */
const HEAR_M = 25;
const LOSE_M = 35;
/** Maximum number of connected players. The nearest are connected. */
const PEERS_MAX = 12;
/** Interval of checks of distances and volumes. */
const LOOK_MS = 100;
/** Attempts to connect two players before the page reports a failure. */
const ATTEMPTS_MAX = 3;

/** A position in metres. */
export interface Spot {
  readonly x: number;
  readonly y: number;
  readonly z: number;
}

/** The parts of the page that a voice needs. */
export interface VoiceHost {
  readonly player: number | undefined;
  /** All other players and their positions; `undefined` for unknown ones. */
  others(): Iterable<{ readonly id: number; readonly spot: Spot | undefined }>;
  /** Passes a text on to one player. */
  send(to: number, data: string): void;
  /** Called when a player cannot be connected over this network. */
  failed(player: number): void;
  /** The set of speaking or connected players changed. */
  changed(): void;
}

/** The outcome of asking for the microphone. */
export type MicrophoneState = "on" | "refused" | "missing";

/** The user's choice for one player's voice. */
interface Choice {
  volume: number;
  isBlocked: boolean;
}

/** Plays the voices of near players at their places, and sends the local player's voice once the microphone is on. */
export class Voice {
  readonly #context = new AudioContext();
  readonly #abort = new AbortController();
  readonly #peers = new Map<number, Peer>();
  /** Players to whom this page has announced its voice. */
  readonly #greeted = new Set<number>();
  /** Number of failed attempts for each player since the player came near. */
  readonly #failures = new Map<number, number>();
  readonly #choices = new Map<number, Choice>();
  #stream: MediaStream | undefined;
  #lookedMs = 0;
  readonly #host: VoiceHost;
  readonly #iceServers: readonly RTCIceServer[];
  /** Whether other visitors may receive addresses of this machine's own network. */
  readonly #sharesAddresses: boolean;

  constructor(
    host: VoiceHost,
    iceServers: readonly RTCIceServer[] = [],
    sharesAddresses = isOwnNetwork(location.hostname),
  ) {
    this.#host = host;
    this.#iceServers = iceServers;
    this.#sharesAddresses = sharesAddresses;
    atSoundChances(() => resume(this.#context), this.#abort.signal);
  }

  /** Whether this browser supports voices. */
  static get isPossible(): boolean {
    return typeof RTCPeerConnection !== "undefined" && typeof AudioContext !== "undefined";
  }

  get isMuted(): boolean {
    return this.#stream === undefined;
  }

  /** Requests or releases the microphone: while muted, the browser does not record at all. */
  async setMuted(isMuted: boolean): Promise<MicrophoneState> {
    resume(this.#context);
    let state: MicrophoneState = "on";
    if (isMuted) {
      for (const track of this.#stream?.getTracks() ?? []) track.stop();
      this.#stream = undefined;
    } else if (!navigator.mediaDevices) {
      return "missing";
    } else {
      try {
        this.#stream ??= await navigator.mediaDevices.getUserMedia({
          audio: { echoCancellation: true, noiseSuppression: true, autoGainControl: true },
        });
      } catch (error) {
        state = error instanceof DOMException && error.name === "NotFoundError" ? "missing" : "refused";
      }
    }
    for (const peer of this.#peers.values()) void peer.speak(this.#track);
    this.#host.changed();
    return state;
  }

  isSpeaking(player: number): boolean {
    return this.#peers.get(player)?.isSpeaking ?? false;
  }

  isConnected(player: number): boolean {
    return this.#peers.get(player)?.state === "connected";
  }

  choiceOf(player: number): Readonly<Choice> {
    return this.#choices.get(player) ?? { volume: 1, isBlocked: false };
  }

  /**
   * Sets the user's choice for a player. `volume` is 0 to 2. A blocked player is not connected at all, and does not
   * receive the local player's voice.
   */
  choose(player: number, choice: Readonly<Choice>): void {
    this.#choices.set(player, { ...choice });
    if (choice.isBlocked) {
      this.#say(player, { type: "bye" });
      this.#drop(player);
    } else {
      this.#peers.get(player)?.setVolume(choice.volume);
      this.#greeted.delete(player);
    }
  }

  /** Handles the payload of the world's event `voice`. */
  handleSignal(payload: unknown): void {
    const heard = readSignal(payload);
    const { player } = this.#host;
    if (!heard || player === undefined || heard.from === player) return;
    const { from, signal } = heard;
    if (this.choiceOf(from).isBlocked) return;
    if (signal.type === "bye") {
      this.#greeted.delete(from);
      return this.#drop(from);
    }
    if (signal.type === "here") {
      if (!signal.reply) this.#say(from, { type: "here", reply: true });
      this.#greeted.add(from);
      // The player with the lower number begins the call. A player who announces again has reloaded the page.
      if (player < from && !(signal.reply && this.#peers.has(from))) this.#connect(from, undefined);
      return;
    }
    if (signal.type === "offer") this.#connect(from, signal.call);
    const peer = this.#peers.get(from);
    if (peer?.call === signal.call) void peer.handleSignal(signal);
  }

  /** Once a frame: the position of the ears, and the direction ahead. */
  update(nowMs: number, ears: Spot, ahead: Spot): void {
    const { listener } = this.#context;
    // Firefox does not have these parameters yet.
    if (listener.positionX) {
      listener.positionX.value = ears.x;
      listener.positionY.value = ears.y;
      listener.positionZ.value = ears.z;
      listener.forwardX.value = ahead.x;
      listener.forwardY.value = ahead.y;
      listener.forwardZ.value = ahead.z;
    } else {
      listener.setPosition(ears.x, ears.y, ears.z);
      listener.setOrientation(ahead.x, ahead.y, ahead.z, 0, 1, 0);
    }
    if (nowMs - this.#lookedMs < LOOK_MS) return;
    this.#lookedMs = nowMs;
    this.#look(ears);
  }

  close(): void {
    this.#abort.abort();
    for (const player of this.#peers.keys()) this.#say(player, { type: "bye" });
    for (const player of [...this.#peers.keys()]) this.#drop(player);
    for (const track of this.#stream?.getTracks() ?? []) track.stop();
    void this.#context.close();
  }

  get #track(): MediaStreamTrack | null {
    return this.#stream?.getAudioTracks()[0] ?? null;
  }

  /** Announces to near players, disconnects distant ones, and measures the volumes. */
  #look(ears: Spot): void {
    const near = new Map<number, number>();
    for (const { id, spot } of this.#host.others()) {
      if (!spot) continue;
      const metres = Math.hypot(spot.x - ears.x, spot.y - ears.y, spot.z - ears.z);
      if (metres < LOSE_M) near.set(id, metres);
      this.#peers.get(id)?.place(spot.x, spot.y, spot.z);
    }
    for (const player of new Set([...this.#peers.keys(), ...this.#greeted])) {
      if (near.has(player)) continue;
      this.#greeted.delete(player);
      this.#failures.delete(player);
      this.#drop(player);
    }
    const nearest = [...near].sort(([, a], [, b]) => a - b).slice(0, PEERS_MAX);
    for (const [player, metres] of nearest) {
      if (metres > HEAR_M || this.#greeted.has(player) || this.choiceOf(player).isBlocked) continue;
      this.#greeted.add(player);
      this.#say(player, { type: "here", reply: false });
    }
    let hasChanged = false;
    for (const peer of this.#peers.values()) if (peer.measure()) hasChanged = true;
    if (hasChanged) this.#host.changed();
  }

  /** Begins a call, or accepts one from the other side. */
  #connect(player: number, call: string | undefined): void {
    if (this.#peers.size >= PEERS_MAX && !this.#peers.has(player)) return;
    this.#drop(player);
    const offers = call === undefined;
    const name = call ?? Math.random().toString(36).slice(2, 12);
    const peer = new Peer(name, this.#context, this.#iceServers, this.#track, offers, {
      send: (signal) => this.#say(player, signal),
      changed: (state) => {
        if (state === "failed" && this.#peers.get(player) === peer) this.#failed(player);
        if (state === "connected") this.#failures.delete(player);
        this.#host.changed();
      },
    });
    peer.setVolume(this.choiceOf(player).volume);
    this.#peers.set(player, peer);
  }

  #failed(player: number): void {
    this.#drop(player);
    const failures = (this.#failures.get(player) ?? 0) + 1;
    this.#failures.set(player, failures);
    if (failures < ATTEMPTS_MAX) this.#greeted.delete(player);
    else this.#host.failed(player);
  }

  #drop(player: number): void {
    const peer = this.#peers.get(player);
    if (!peer) return;
    this.#peers.delete(player);
    peer.close();
    this.#host.changed();
  }

  #say(player: number, signal: Signal): void {
    const allowed = this.#sharesAddresses ? signal : withoutHostAddresses(signal);
    const text = allowed && writeSignal(allowed);
    if (text !== undefined) this.#host.send(player, text);
  }
}
