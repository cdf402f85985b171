/** Sounds that a world plays until it stops them: `world.loop` in `docs/how-to/pages.md`. */
import { clamped, isFields, readVector, type Vector } from "nowcast/internal";

/** A sound that repeats: the value of a place on screens. */
export interface Loop {
  /** A path such as `assets/theme.ogg`. */
  readonly file: string;
  /** The place of the sound; undefined for a sound without a place. */
  readonly at: Vector | undefined;
  /** The entity to which the sound is attached. */
  readonly on: number | undefined;
  /** 0 to 1. */
  readonly volume: number;
  /** Multiple of the recorded pitch and speed, 0.25 to 4. */
  readonly pitch: number;
  /** Seconds to fade in and out, 0 to 10. */
  readonly fadeS: number;
}

const FADE_S_MAX = 10;
const LOOPS_MAX = 8;
const QUIET = 0.0001;

/** Reads a value of a place on screens; `undefined` if it is not a loop. */
export function readLoop(value: unknown): Loop | undefined {
  if (!isFields(value)) return undefined;
  const { loop, at, on, volume, pitch, fade } = value;
  if (typeof loop !== "string" || loop.length > 200) return undefined;
  return {
    file: loop,
    at: readVector(at),
    on: typeof on === "number" ? on : undefined,
    volume: clamped(volume, 0, 1, 1),
    pitch: clamped(pitch, 0.25, 4, 1),
    fadeS: clamped(fade, 0, FADE_S_MAX, 0),
  };
}

/** The audio of a page, as far as loops need it. */
export interface LoopAudio {
  /** The running context and its output; undefined while sounds are not audible. */
  output(): { readonly context: AudioContext; readonly out: AudioNode } | undefined;
  /** The recording of a file of the world; undefined if there is none. */
  recording(file: string): Promise<AudioBuffer | undefined>;
}

/** Returns the position of an entity, or undefined while it is not known. */
export type Whereabouts = (
  entity: number,
) => { readonly x: number; readonly y: number; readonly z: number } | undefined;

/** Plays the loops of a world. Loops that the world set before sounds were audible begin when they are. */
export class Loops {
  readonly #audio: LoopAudio;
  readonly #wanted = new Map<string, Loop>();
  readonly #playing = new Map<string, Playing>();

  constructor(audio: LoopAudio) {
    this.#audio = audio;
  }

  /** Sets the value of a place; returns whether it is or was a loop. */
  set(place: string, value: unknown): boolean {
    const loop = readLoop(value);
    const before = this.#wanted.get(place);
    if (loop === undefined) {
      this.#wanted.delete(place);
      this.#stop(place);
      return before !== undefined;
    }
    if (before === undefined && this.#wanted.size >= LOOPS_MAX) return true;
    this.#wanted.set(place, loop);
    const playing = this.#playing.get(place);
    if (playing && playing.loop.file === loop.file && isPlaced(playing.loop) === isPlaced(loop))
      playing.change(loop);
    else this.#stop(place);
    return true;
  }

  /** Stops all loops at once. */
  clear(): void {
    this.#wanted.clear();
    for (const playing of this.#playing.values()) playing.stop(0);
    this.#playing.clear();
  }

  /** Begins the loops that wait, and moves those that are attached to entities. */
  update(whereabouts: Whereabouts): void {
    const output = this.#audio.output();
    for (const [place, loop] of this.#wanted) {
      const playing = this.#playing.get(place);
      if (!playing && output) this.#begin(place, loop, output);
      const at = loop.on === undefined ? undefined : whereabouts(loop.on);
      if (at) playing?.move(at.x, at.y, at.z);
    }
  }

  #begin(place: string, loop: Loop, { context, out }: { context: AudioContext; out: AudioNode }): void {
    const playing = new Playing(context, out, loop);
    this.#playing.set(place, playing);
    void this.#audio.recording(loop.file).then((buffer) => {
      if (buffer && this.#playing.get(place) === playing) playing.start(buffer);
    });
  }

  #stop(place: string): void {
    const playing = this.#playing.get(place);
    this.#playing.delete(place);
    playing?.stop(playing.loop.fadeS);
  }
}

function isPlaced({ at, on }: Loop): boolean {
  return at !== undefined || on !== undefined;
}

/** One loop and its nodes. */
class Playing {
  loop: Loop;
  readonly #context: AudioContext;
  readonly #gain: GainNode;
  readonly #panner: PannerNode | undefined;
  #source: AudioBufferSourceNode | undefined;

  constructor(context: AudioContext, out: AudioNode, loop: Loop) {
    this.loop = loop;
    this.#context = context;
    this.#gain = new GainNode(context, { gain: QUIET });
    if (isPlaced(loop)) {
      this.#panner = new PannerNode(context, { refDistance: 4, rolloffFactor: 1.2 });
      this.#gain.connect(this.#panner).connect(out);
      if (loop.at) this.move(...loop.at);
    } else {
      this.#gain.connect(out);
    }
  }

  start(buffer: AudioBuffer): void {
    const { pitch, volume, fadeS } = this.loop;
    this.#source = new AudioBufferSourceNode(this.#context, { buffer, loop: true, playbackRate: pitch });
    this.#source.connect(this.#gain);
    this.#source.start();
    this.#fadeTo(volume, fadeS);
  }

  change(loop: Loop): void {
    this.loop = loop;
    if (loop.at) this.move(...loop.at);
    if (!this.#source) return;
    this.#source.playbackRate.value = loop.pitch;
    this.#fadeTo(loop.volume, loop.fadeS);
  }

  move(x: number, y: number, z: number): void {
    if (!this.#panner) return;
    this.#panner.positionX.value = x;
    this.#panner.positionY.value = y;
    this.#panner.positionZ.value = z;
  }

  stop(fadeS: number): void {
    this.#fadeTo(0, fadeS);
    if (!this.#source) return this.#gain.disconnect();
    this.#source.onended = () => this.#gain.disconnect();
    this.#source.stop(this.#context.currentTime + fadeS);
  }

  #fadeTo(volume: number, seconds: number): void {
    const { gain } = this.#gain;
    const now = this.#context.currentTime;
    gain.cancelScheduledValues(now);
    gain.setValueAtTime(gain.value, now);
    gain.linearRampToValueAtTime(Math.max(QUIET, volume), now + Math.max(0.02, seconds));
  }
}
