/**
 * Plays a world's sounds (the event `sound`): the file in the world's folder, or else a synthesised sound for a word in
 * the file's name.
 */
import { AssetCache, AssetError, type Assets } from "@nowcast/three/internal";
import { isFields, readVector, type Vector } from "nowcast/internal";
import { atSoundChances, resume } from "./audio.js";
import { Loops } from "./loops.js";

/** A sound that a world plays: the payload of the event `sound`. */
export interface Sound {
  /** A path such as `assets/whistle.ogg`. */
  readonly file: string;
  /** The place of the sound; undefined for a sound without a place. */
  readonly at: Vector | undefined;
  /** 0 to 1. */
  readonly volume: number;
}

export function readSound(payload: unknown): Sound | undefined {
  if (!isFields(payload)) return undefined;
  const { file, at, volume } = payload;
  if (typeof file !== "string" || file.length > 200) return undefined;
  const loudness = typeof volume === "number" && volume >= 0 ? Math.min(1, volume) : 1;
  return { file, at: readVector(at), volume: loudness };
}

/** A synthesised sound: a gliding tone or a noise. */
export interface Timbre {
  readonly wave: OscillatorType | "noise";
  /** The frequency at the start and at the end, in hertz. For a noise, the pass band. */
  readonly fromHz: number;
  readonly toHz: number;
  readonly seconds: number;
  /** Trill frequency in hertz; 0 for no trill. */
  readonly trillHz: number;
}

const TIMBRES: readonly (readonly [RegExp, Timbre])[] = [
  [/whistle/, { wave: "sine", fromHz: 2300, toHz: 2250, seconds: 0.7, trillHz: 32 }],
  [/kick|thump|hit|step|drop/, { wave: "sine", fromHz: 160, toHz: 50, seconds: 0.16, trillHz: 0 }],
  [/bell|chime|coin|score|goal/, { wave: "triangle", fromHz: 1320, toHz: 1310, seconds: 0.9, trillHz: 0 }],
  [/click|tick|switch|key/, { wave: "square", fromHz: 1800, toHz: 900, seconds: 0.03, trillHz: 0 }],
  [/boom|explo|blast|crash|shot/, { wave: "noise", fromHz: 900, toHz: 60, seconds: 0.8, trillHz: 0 }],
  [/wind|whoosh|swing|throw/, { wave: "noise", fromHz: 500, toHz: 1800, seconds: 0.3, trillHz: 0 }],
  [/horn|alarm|siren/, { wave: "sawtooth", fromHz: 330, toHz: 330, seconds: 0.8, trillHz: 6 }],
  [/door|open|close|lift/, { wave: "sawtooth", fromHz: 90, toHz: 140, seconds: 0.4, trillHz: 18 }],
];
const OTHERWISE: Timbre = { wave: "triangle", fromHz: 660, toHz: 520, seconds: 0.2, trillHz: 0 };

/** The timbre of a file, by the first known word in its name. */
export function timbreOf(file: string): Timbre {
  const name = (file.split("/").pop() ?? "").toLowerCase();
  return TIMBRES.find(([words]) => words.test(name))?.[1] ?? OTHERWISE;
}

const RECORDED = /\.(ogg|mp3|wav)$/i;
const FILE_BYTES_MAX = 1024 * 1024;
const FILE_SECONDS_MAX = 60;
/** A sound that becomes ready later than this is dropped, because it would no longer match the event. */
const LATE_S_MAX = 1.5;
const VOICES_MAX = 16;
const LOUDNESS = 0.35;

/** Plays the sounds of a world, unless the settings turn them off. */
export class Sounds {
  #context: AudioContext | undefined;
  #noise: AudioBuffer | undefined;
  #voices = 0;
  #isOn = false;
  #volume = 1;
  /** The gain that all sounds pass through. */
  #master: GainNode | undefined;
  readonly #recordings: AssetCache<AudioBuffer>;
  readonly #assets: Assets;
  readonly #abort = new AbortController();
  /** The sounds that repeat until the world stops them. */
  readonly loops = new Loops({
    output: () => {
      const context = this.#context;
      return this.isAudible && context ? { context, out: this.#output(context) } : undefined;
    },
    recording: async (file) => (this.#assets.find(file) ? this.#recordings.get(file) : undefined),
  });

  constructor(assets: Assets) {
    this.#assets = assets;
    this.#recordings = new AssetCache(
      assets,
      async (entry) => this.#decode(entry.name, await assets.get(entry, FILE_BYTES_MAX)),
      () => undefined,
      (error) => console.warn(error.message),
    );
    atSoundChances(() => this.#begin(), this.#abort.signal);
  }

  /** Ends all sounds. */
  dispose(): void {
    this.#abort.abort();
    this.loops.clear();
    this.setOn(false);
  }

  /** Sets the files of the world after they changed. */
  define(): void {
    this.#recordings.define();
  }

  /** Whether sounds are audible now: they are switched on, and the browser allows them. */
  get isAudible(): boolean {
    return this.#isOn && this.#context?.state === "running";
  }

  setOn(isOn: boolean): void {
    if (isOn === this.#isOn) return;
    this.#isOn = isOn;
    if (isOn) this.#begin();
    else this.#context?.suspend().catch(() => undefined);
  }

  /** Sets the volume of all sounds, 0 to 1. */
  setVolume(volume: number): void {
    this.#volume = Math.min(1, Math.max(0, volume));
    if (this.#master) this.#master.gain.value = this.#volume;
  }

  /** Browsers allow sound only after a user's input. */
  #begin(): void {
    if (!this.#isOn || navigator.userActivation?.hasBeenActive === false) return;
    this.#context ??= new AudioContext();
    resume(this.#context);
  }

  /** Moves the listener to the pose of the camera. */
  listenAt(x: number, y: number, z: number, aheadX: number, aheadY: number, aheadZ: number): void {
    const listener = this.#context?.listener;
    // Firefox does not have these parameters. There the listener does not turn, so sounds have no direction.
    if (!this.#isOn || listener?.positionX === undefined) return;
    listener.positionX.value = x;
    listener.positionY.value = y;
    listener.positionZ.value = z;
    listener.forwardX.value = aheadX;
    listener.forwardY.value = aheadY;
    listener.forwardZ.value = aheadZ;
  }

  play(sound: Sound): void {
    const context = this.#context;
    if (!this.#isOn || !context || this.#voices >= VOICES_MAX) return;
    if (context.state !== "running") {
      // Sounds that are due during an interruption are dropped.
      resume(context);
      return;
    }
    if (RECORDED.test(sound.file) && this.#assets.find(sound.file)) void this.#playFile(context, sound);
    else this.#playTimbre(context, sound);
  }

  async #playFile(context: AudioContext, sound: Sound): Promise<void> {
    const askedAt = context.currentTime;
    const buffer = this.#recordings.peek(sound.file) ?? (await this.#recordings.get(sound.file));
    if (!buffer) return this.#playTimbre(context, sound);
    if (!this.#isOn || this.#voices >= VOICES_MAX || context.currentTime - askedAt > LATE_S_MAX) return;
    const source = new AudioBufferSourceNode(context, { buffer });
    const gain = new GainNode(context, { gain: sound.volume });
    this.#connect(context, source, source.connect(gain), sound.at);
    source.start();
  }

  async #decode(name: string, file: ArrayBuffer): Promise<AudioBuffer> {
    const buffer = await this.#context?.decodeAudioData(file);
    if (!buffer) throw new AssetError(name, "no sound can be played yet");
    if (buffer.duration > FILE_SECONDS_MAX)
      throw new AssetError(name, `it is longer than ${FILE_SECONDS_MAX} seconds`);
    return buffer;
  }

  #playTimbre(context: AudioContext, { file, at, volume }: Sound): void {
    const timbre = timbreOf(file);
    const start = context.currentTime;
    const end = start + timbre.seconds;
    const gain = context.createGain();
    gain.gain.setValueAtTime(0, start);
    gain.gain.linearRampToValueAtTime(volume * LOUDNESS, start + Math.min(0.01, timbre.seconds / 4));
    gain.gain.exponentialRampToValueAtTime(0.0001, end);
    const source = this.#createSource(context, timbre, start, end, gain);
    this.#trill(context, timbre, start, end, gain);
    this.#connect(context, source, gain, at);
    source.start(start);
    source.stop(end);
  }

  /** Connects a source to the listener, with or without a place, until the source ends. */
  #connect(
    context: AudioContext,
    source: AudioScheduledSourceNode,
    gain: AudioNode,
    at: Vector | undefined,
  ): void {
    let out = gain;
    if (at) {
      const [positionX, positionY, positionZ] = at;
      const panner = new PannerNode(context, {
        positionX,
        positionY,
        positionZ,
        refDistance: 4,
        rolloffFactor: 1.2,
      });
      out = gain.connect(panner);
    }
    out.connect(this.#output(context));
    this.#voices++;
    source.onended = () => {
      this.#voices--;
      out.disconnect();
    };
  }

  #output(context: AudioContext): GainNode {
    if (!this.#master) {
      this.#master = new GainNode(context, { gain: this.#volume });
      this.#master.connect(context.destination);
    }
    return this.#master;
  }

  #createSource(
    context: AudioContext,
    { wave, fromHz, toHz }: Timbre,
    start: number,
    end: number,
    gain: GainNode,
  ): AudioScheduledSourceNode {
    if (wave !== "noise") {
      const tone = new OscillatorNode(context, { type: wave });
      tone.frequency.setValueAtTime(fromHz, start);
      tone.frequency.exponentialRampToValueAtTime(toHz, end);
      tone.connect(gain);
      return tone;
    }
    const hiss = new AudioBufferSourceNode(context, { buffer: this.#hiss(context), loop: true });
    const filter = new BiquadFilterNode(context, { type: "lowpass" });
    filter.frequency.setValueAtTime(fromHz, start);
    filter.frequency.exponentialRampToValueAtTime(toHz, end);
    hiss.connect(filter).connect(gain);
    return hiss;
  }

  #trill(context: AudioContext, { trillHz }: Timbre, start: number, end: number, gain: GainNode): void {
    if (trillHz === 0) return;
    const tremor = new OscillatorNode(context, { frequency: trillHz });
    const depth = new GainNode(context, { gain: LOUDNESS * 0.3 });
    tremor.connect(depth).connect(gain.gain);
    tremor.start(start);
    tremor.stop(end);
  }

  #hiss(context: AudioContext): AudioBuffer {
    if (this.#noise) return this.#noise;
    const buffer = context.createBuffer(1, context.sampleRate, context.sampleRate);
    const samples = buffer.getChannelData(0);
    for (let i = 0; i < samples.length; i++) samples[i] = Math.random() * 2 - 1;
    this.#noise = buffer;
    return buffer;
  }
}
