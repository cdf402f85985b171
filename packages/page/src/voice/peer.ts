import type { Signal } from "./signals.js";

/** Maximum candidates that are kept before their description arrives. */
const CANDIDATES_MAX = 32;
/**
 * Distance up to which a voice has its full volume, in metres. At twice this distance it has half the volume.
 */
const NEAR_M = 2;
const FAR_M = 40;
/** Root mean square of the samples: above the first a player counts as speaking, below the second as silent again. */
const SPEAKS = 0.02;
const SILENT = 0.01;

/** The state of a connection to a person. */
export type PeerState = "connecting" | "connected" | "failed";

export interface PeerListener {
  send(signal: Signal): void;
  changed(state: PeerState): void;
}

/**
 * The connection to one player. It plays the other player's voice at that player's position, and sends the local player's
 * voice.
 */
export class Peer {
  state: PeerState = "connecting";
  isSpeaking = false;
  readonly #connection: RTCPeerConnection;
  #sender: RTCRtpSender | undefined;
  readonly #waiting: RTCIceCandidateInit[] = [];
  readonly #analyser: AnalyserNode;
  readonly #gain: GainNode;
  readonly #panner: PannerNode;
  readonly #samples: Float32Array<ArrayBuffer>;
  /** Chromium passes a remote voice to Web Audio only while an element plays it, too. */
  readonly #sink = new Audio();
  #source: MediaStreamAudioSourceNode | undefined;
  #track: MediaStreamTrack | null;
  readonly #listener: PeerListener;

  /** `call` identifies this attempt. `offers` is true if this side sends the offer. */
  constructor(
    readonly call: string,
    context: AudioContext,
    iceServers: readonly RTCIceServer[],
    track: MediaStreamTrack | null,
    offers: boolean,
    listener: PeerListener,
  ) {
    this.#track = track;
    this.#listener = listener;
    this.#connection = new RTCPeerConnection({ iceServers: [...iceServers] });
    this.#analyser = new AnalyserNode(context, { fftSize: 512 });
    this.#gain = new GainNode(context);
    this.#panner = new PannerNode(context, {
      panningModel: "HRTF",
      distanceModel: "inverse",
      refDistance: NEAR_M,
      maxDistance: FAR_M,
    });
    this.#analyser.connect(this.#gain).connect(this.#panner).connect(context.destination);
    this.#samples = new Float32Array(this.#analyser.fftSize);
    this.#sink.muted = true;
    this.#listen(context);
    if (!offers) return;
    const transceiver = this.#connection.addTransceiver("audio", { direction: "sendrecv" });
    preferOpus(transceiver);
    this.#sender = transceiver.sender;
    void this.#offer();
  }

  /** Handles a signal of the other side. */
  async handleSignal(signal: Signal): Promise<void> {
    const connection = this.#connection;
    try {
      if (signal.type === "offer") {
        await connection.setRemoteDescription({ type: "offer", sdp: signal.sdp });
        const [transceiver] = connection.getTransceivers();
        if (!transceiver) return this.#fail();
        transceiver.direction = "sendrecv";
        this.#sender = transceiver.sender;
        await this.#sender.replaceTrack(this.#track);
        await connection.setLocalDescription();
        this.#listener.send({ type: "answer", call: this.call, sdp: connection.localDescription?.sdp ?? "" });
        await this.#addWaiting();
      } else if (signal.type === "answer") {
        await connection.setRemoteDescription({ type: "answer", sdp: signal.sdp });
        await this.#addWaiting();
      } else if (signal.type === "candidate") {
        const candidate = { candidate: signal.candidate, sdpMid: signal.mid };
        if (connection.remoteDescription) await connection.addIceCandidate(candidate);
        else if (this.#waiting.length < CANDIDATES_MAX) this.#waiting.push(candidate);
      }
    } catch {
      // An error at this point means that the browser does not support the other side's description.
      this.#fail();
    }
  }

  /** Sets the local player's voice, or none. */
  async speak(track: MediaStreamTrack | null): Promise<void> {
    this.#track = track;
    await this.#sender?.replaceTrack(track).catch(() => this.#fail());
  }

  setVolume(volume: number): void {
    this.#gain.gain.value = volume;
  }

  place(x: number, y: number, z: number): void {
    this.#panner.positionX.value = x;
    this.#panner.positionY.value = y;
    this.#panner.positionZ.value = z;
  }

  /** Measures the volume; returns whether the voice began or ended. */
  measure(): boolean {
    this.#analyser.getFloatTimeDomainData(this.#samples);
    let sum = 0;
    for (const sample of this.#samples) sum += sample * sample;
    const level = Math.sqrt(sum / this.#samples.length);
    const speaks = level > (this.isSpeaking ? SILENT : SPEAKS);
    if (speaks === this.isSpeaking) return false;
    this.isSpeaking = speaks;
    return true;
  }

  close(): void {
    this.#connection.close();
    this.#source?.disconnect();
    this.#panner.disconnect();
    this.#sink.srcObject = null;
  }

  #listen(context: AudioContext): void {
    const connection = this.#connection;
    const listener = this.#listener;
    connection.addEventListener("icecandidate", ({ candidate }) => {
      if (!candidate?.candidate) return;
      listener.send({
        type: "candidate",
        call: this.call,
        candidate: candidate.candidate,
        mid: candidate.sdpMid ?? "0",
      });
    });
    connection.addEventListener("track", ({ track }) => {
      const stream = new MediaStream([track]);
      this.#sink.srcObject = stream;
      void this.#sink.play().catch(() => undefined);
      this.#source?.disconnect();
      this.#source = context.createMediaStreamSource(stream);
      this.#source.connect(this.#analyser);
    });
    connection.addEventListener("connectionstatechange", () => {
      const { connectionState } = connection;
      if (connectionState === "failed") this.#fail();
      else if (connectionState === "connected") this.#become("connected");
    });
  }

  async #offer(): Promise<void> {
    try {
      await this.#sender?.replaceTrack(this.#track);
      await this.#connection.setLocalDescription();
      this.#listener.send({
        type: "offer",
        call: this.call,
        sdp: this.#connection.localDescription?.sdp ?? "",
      });
    } catch {
      this.#fail();
    }
  }

  async #addWaiting(): Promise<void> {
    for (const candidate of this.#waiting.splice(0)) await this.#connection.addIceCandidate(candidate);
  }

  #fail(): void {
    this.#become("failed");
  }

  #become(state: PeerState): void {
    if (state === this.state) return;
    this.state = state;
    this.#listener.changed(state);
  }
}

/** Only one codec is offered, so that descriptions are short enough for an action. */
function preferOpus(transceiver: RTCRtpTransceiver): void {
  const codecs = RTCRtpReceiver.getCapabilities("audio")?.codecs ?? [];
  const opus = codecs.filter(({ mimeType }) => mimeType.toLowerCase() === "audio/opus");
  if (opus.length > 0) transceiver.setCodecPreferences(opus);
}
