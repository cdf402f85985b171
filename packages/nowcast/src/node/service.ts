/** A name at an endpoint, and the channels that clients open to it. */
import type { Channel } from "../channel/channel.js";
import { CancellableWaits, DISPOSE, type WaitOptions } from "../events/cancellable-waits.js";

export class Service implements AsyncIterable<Channel> {
  readonly name: string;
  readonly #channels: Channel[] = [];
  readonly #waiting: ((channel: Channel | undefined) => void)[] = [];
  readonly #waits = new CancellableWaits();
  readonly #backlogMax: number;
  readonly #withdraw: () => void;
  #isClosed = false;

  /** Made by {@link Listener.advertise}. */
  constructor(name: string, backlogMax: number, withdraw: () => void) {
    this.name = name;
    this.#backlogMax = backlogMax;
    this.#withdraw = withdraw;
  }

  /** Whether the queue of channels that wait to be accepted has room. */
  get hasRoom(): boolean {
    return !this.#isClosed && this.#channels.length < this.#backlogMax;
  }

  /** Waits for the next channel that a client opens; `undefined` when the service is closed. */
  accept({ signal }: WaitOptions = {}): Promise<Channel | undefined> {
    return this.#waits.wait(signal, (resolve) => {
      const channel = this.#channels.shift();
      if (channel !== undefined || this.#isClosed) resolve(channel);
      else this.#waiting.push(resolve);
      return () => {
        const at = this.#waiting.indexOf(resolve);
        if (at >= 0) this.#waiting.splice(at, 1);
      };
    });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Channel, void> {
    for (let next = await this.accept(); next !== undefined; next = await this.accept()) yield next;
  }

  /** Removes the name. Channels that were accepted stay open. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#withdraw();
    for (const resolve of this.#waiting.splice(0)) resolve(undefined);
  }

  /** At the end of `using`: removes the name. */
  [DISPOSE](): void {
    this.close();
  }

  /** Called by the acceptor with an open channel. */
  offer(channel: Channel): void {
    const resolve = this.#waiting.shift();
    if (resolve !== undefined) resolve(channel);
    else this.#channels.push(channel);
  }
}
