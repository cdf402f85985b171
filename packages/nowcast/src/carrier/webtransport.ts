/** Packets as datagrams of a browser's WebTransport (`spec/CARRIERS.md`, section 3). */
import { NowcastError } from "../errors/nowcast-error.js";
import type { CarrierHandlers, OpenCarrier } from "./carrier.js";

/**
 * Maximum number of packets that the browser holds unsent. Further packets would become outdated while they wait in the
 * browser.
 */
const OUTSTANDING_MAX = 2;
/** A read of a datagram that has arrived resolves within this many microtasks. */
const IDLE_TURNS = 12;
/**
 * Maximum number of datagrams that wait for the page to read them. By default browsers keep one
 * datagram and drop the others.
 */
const INCOMING_MAX = 256;

export function hasWebTransport(): boolean {
  return typeof WebTransport === "function";
}

/**
 * Opens WebTransport. If there are hashes of certificates, only certificates with these hashes are accepted. Otherwise
 * the certificate must be signed by a usual authority.
 */
export async function openWebTransport(
  url: string,
  certificateHashes: readonly Uint8Array<ArrayBuffer>[],
  signal: AbortSignal,
): Promise<OpenCarrier> {
  signal.throwIfAborted();
  const serverCertificateHashes = certificateHashes.map((value) => ({ algorithm: "sha-256", value }));
  const options = serverCertificateHashes.length === 0 ? {} : { serverCertificateHashes };
  const transport = new WebTransport(url, options);
  // Both promises are rejected together, but this code waits for only one of them.
  transport.closed.catch(() => {});
  const abort = (): void => closeQuietly(transport, "another carrier was ready first");
  signal.addEventListener("abort", abort);
  try {
    await transport.ready;
  } catch (error) {
    throw new NowcastError("network", `WebTransport did not open: ${messageOf(error)}`, { cause: error });
  } finally {
    signal.removeEventListener("abort", abort);
  }
  if (signal.aborted) closeQuietly(transport, "another carrier was ready first");
  signal.throwIfAborted();
  return new WebTransportCarrier(transport);
}

/**
 * The datagrams of a browser. Older browsers have `writable`, newer browsers `createWritable`, and
 * some have both.
 */
interface Datagrams {
  readonly writable?: WritableStream<Uint8Array>;
  createWritable?(): WritableStream<Uint8Array>;
}

/** Safari 26.4 and newer have only `createWritable`. */
function datagramWriter(datagrams: Datagrams): WritableStreamDefaultWriter<Uint8Array> {
  const writable = datagrams.writable ?? datagrams.createWritable?.();
  if (writable !== undefined) return writable.getWriter();
  throw new NowcastError("network", "WebTransport of this browser has no way to send datagrams");
}

class WebTransportCarrier implements OpenCarrier {
  readonly kind = "webtransport";
  readonly #transport: WebTransport;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  #handlers: CarrierHandlers | undefined;
  #outstanding = 0;
  #ended: string | undefined;

  constructor(transport: WebTransport) {
    this.#transport = transport;
    transport.datagrams.incomingHighWaterMark = INCOMING_MAX;
    this.#writer = datagramWriter(transport.datagrams);
    this.#writer.closed.catch(() => {});
    transport.closed.then(
      () => this.#end("the peer closed the WebTransport session"),
      (error) => this.#end(`WebTransport ended: ${messageOf(error)}`),
    );
  }

  get hasRoom(): boolean {
    return this.#ended === undefined && this.#outstanding < OUTSTANDING_MAX;
  }

  begin(handlers: CarrierHandlers): void {
    this.#handlers = handlers;
    if (this.#ended !== undefined) handlers.ended(this.#ended);
    else void this.#read();
  }

  send(packet: Uint8Array): void {
    this.#outstanding += 1;
    this.#writer.write(packet).then(
      () => {
        this.#outstanding -= 1;
        if (this.#outstanding === OUTSTANDING_MAX - 1) this.#handlers?.room();
      },
      (error) => this.#end(`WebTransport ended: ${messageOf(error)}`),
    );
  }

  close(_code: number, reason: string): void {
    if (this.#ended !== undefined) return;
    this.#handlers = undefined;
    this.#end(reason);
    closeQuietly(this.#transport, reason);
  }

  /**
   * Reads all waiting datagrams before it handles the first one, so that handling one datagram does
   * not falsify the arrival time of the next one.
   */
  async #read(): Promise<void> {
    const reader = this.#transport.datagrams.readable.getReader();
    const arrived: [bytes: Uint8Array, atMs: number][] = [];
    let isDue = false;
    const handle = (seen: number, idle: number): void => {
      const turns = arrived.length > seen ? 0 : idle + 1;
      if (turns < IDLE_TURNS) return queueMicrotask(() => handle(arrived.length, turns));
      isDue = false;
      for (const [bytes, atMs] of arrived.splice(0)) this.#handlers?.packet(bytes, atMs);
    };
    try {
      for (let next = await reader.read(); !next.done; next = await reader.read()) {
        arrived.push([next.value, performance.now()]);
        if (isDue) continue;
        isDue = true;
        queueMicrotask(() => handle(arrived.length, 0));
      }
    } catch (error) {
      this.#end(`WebTransport ended: ${messageOf(error)}`);
    }
  }

  #end(reason: string): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    this.#handlers?.ended(reason);
  }
}

function closeQuietly(transport: WebTransport, reason: string): void {
  try {
    transport.close({ closeCode: 0, reason });
  } catch {
    // Closing a transport that never opened may throw. The transport is closed in either case.
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
