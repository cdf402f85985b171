const SAMPLES = 116;
const SPACING_TOP_MS = 400;

/**
 * Draws the latest snapshots as bars; a bar's height is the time by which the snapshot was late. Also draws the view
 * delay, which hides late arrivals, and the bytes a second.
 */
export class NetGraph {
  readonly #spacing = new Float32Array(SAMPLES);
  readonly #delay = new Float32Array(SAMPLES);
  readonly #bytes = new Float32Array(SAMPLES);
  #next = 0;
  #lastMs: number | undefined;
  readonly #context: CanvasRenderingContext2D | null;
  readonly #width: number;
  readonly #height: number;
  readonly #canvas: HTMLCanvasElement;

  constructor(canvas: HTMLCanvasElement) {
    this.#canvas = canvas;
    this.#width = canvas.width;
    this.#height = canvas.height;
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    canvas.width = this.#width * ratio;
    canvas.height = this.#height * ratio;
    this.#context = canvas.getContext("2d");
    this.#context?.scale(ratio, ratio);
  }

  /** Records the arrival of a snapshot. */
  record(receivedAtMs: number, delayMs: number, bytesPerSecond: number): void {
    if (this.#lastMs !== undefined) {
      this.#spacing[this.#next] = receivedAtMs - this.#lastMs;
      this.#delay[this.#next] = delayMs;
      this.#bytes[this.#next] = bytesPerSecond;
      this.#next = (this.#next + 1) % SAMPLES;
    }
    this.#lastMs = receivedAtMs;
  }

  /** The gap between two connections does not count as a late snapshot. */
  pause(): void {
    this.#lastMs = undefined;
  }

  draw(expectedMs: number): void {
    const context = this.#context;
    const width = this.#width;
    const height = this.#height;
    if (!context || this.#canvas.offsetParent === null) return;
    context.clearRect(0, 0, width, height);
    const step = width / SAMPLES;
    let bytesTop = 1000;
    for (let i = 0; i < SAMPLES; i++) bytesTop = Math.max(bytesTop, this.#bytes[i]!);
    context.fillStyle = "rgb(106 165 255 / 30%)";
    for (let i = 0; i < SAMPLES; i++) {
      const tall = (this.#bytes[this.#at(i)]! / bytesTop) * (height - 6);
      context.fillRect(i * step, height - tall, step + 0.5, tall);
    }
    for (let i = 0; i < SAMPLES; i++) {
      const ms = this.#spacing[this.#at(i)]!;
      context.fillStyle = ms <= expectedMs * 1.5 ? "#7fd6a4" : ms <= expectedMs * 3 ? "#ffc46b" : "#ff7d6b";
      const tall = scaleMs(ms) * height;
      context.fillRect(i * step, height - tall, Math.max(1, step - 0.6), tall);
    }
    context.strokeStyle = "#ffc46b";
    context.lineWidth = 1.5;
    context.beginPath();
    for (let i = 0; i < SAMPLES; i++) {
      const y = height - scaleMs(this.#delay[this.#at(i)]!) * height;
      if (i === 0) context.moveTo(0, y);
      else context.lineTo(i * step, y);
    }
    context.stroke();
  }

  #at(i: number): number {
    return (this.#next + i) % SAMPLES;
  }
}

/** The scale is a square root, so that both 16 ms and 400 ms are visible. */
function scaleMs(ms: number): number {
  return Math.sqrt(Math.min(1, Math.max(0, ms) / SPACING_TOP_MS));
}
