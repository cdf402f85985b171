/** A name at an endpoint, and the channels that come in. */
import type { Channel } from "../channel/channel.js";

export class Service implements AsyncIterable<Channel> {
  readonly name: string;
  readonly #channels: Channel[] = [];
  readonly #waiting: ((channel: Channel | undefined) => void)[] = [];
  readonly #backlogMax: number;
  readonly #withdraw: () => void;
  #isClosed = false;

  /** Made by {@link Listener.advertise}. */
  constructor(name: string, backlogMax: number, withdraw: () => void) {
    this.name = name;
    this.#backlogMax = backlogMax;
    this.#withdraw = withdraw;
  }

  /** Whether another channel may wait to be accepted. */
  get hasRoom(): boolean {
    return !this.#isClosed && this.#channels.length < this.#backlogMax;
  }

  /** The next channel that comes in; `undefined` when the service is closed. */
  accept(): Promise<Channel | undefined> {
    const channel = this.#channels.shift();
    if (channel !== undefined || this.#isClosed) return Promise.resolve(channel);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Channel, void> {
    for (let next = await this.accept(); next !== undefined; next = await this.accept()) yield next;
  }

  /** Takes the name away; channels that were accepted stay. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#withdraw();
    for (const resolve of this.#waiting.splice(0)) resolve(undefined);
  }

  /** Called by the acceptor with a channel that is open. */
  offer(channel: Channel): void {
    const resolve = this.#waiting.shift();
    if (resolve !== undefined) resolve(channel);
    else this.#channels.push(channel);
  }
}
