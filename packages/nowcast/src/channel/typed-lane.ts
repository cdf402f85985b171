import type { CommandOptions, EventOptions, Lane } from "./lane.js";
import type { ChannelMessage, CommandMessage } from "./message.js";

/** Bytes of one type, there and back: one of `nowcast/codec`, or your own. */
export interface ValueCodec<T> {
  encode(value: T): Uint8Array;
  /** As `encode`, into memory that the next call may write again; used where there is one, because a lane copies at once. */
  encodeShared?(value: T): Uint8Array;
  decode(bytes: Uint8Array): T;
}

/** A message with the value that its bytes stand for. */
export type Typed<T, M extends ChannelMessage = ChannelMessage> = M extends ChannelMessage
  ? Omit<M, "value"> & { readonly value: T }
  : never;

/** A lane whose values are all of one type. */
export class TypedLane<T> {
  constructor(
    readonly lane: Lane,
    readonly codec: ValueCodec<T>,
  ) {}

  /** See {@link Lane.state}. */
  state(key: number | bigint, value: T): boolean {
    return this.lane.state(key, this.#encode(value));
  }

  /** See {@link Lane.event}. */
  event(value: T, options?: EventOptions): number | false {
    return this.lane.event(this.#encode(value), options);
  }

  /** See {@link Lane.command}; the reply is of the same type. */
  async command(value: T, options?: CommandOptions): Promise<T> {
    return this.codec.decode(await this.lane.command(this.#encode(value), options));
  }

  /** Answers a command. */
  reply(command: Pick<CommandMessage, "type" | "lane" | "id">, value: T): boolean {
    return this.lane.reply(command, this.#encode(value));
  }

  /**
   * A message of this lane with its value; `undefined` for one of another lane. Throws what the codec throws for bytes that
   * are none of its own: a `WireError` from those of `nowcast/codec`.
   */
  read(message: ChannelMessage): Typed<T> | undefined {
    if (message.lane !== this.lane.number || message.type === "replication") return undefined;
    return { ...message, value: this.codec.decode(message.value) };
  }

  #encode(value: T): Uint8Array {
    return this.codec.encodeShared?.(value) ?? this.codec.encode(value);
  }
}
