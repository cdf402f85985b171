import type { WaitOptions } from "../events/cancellable-waits.js";
import type { CommandOptions, Lane } from "./lane.js";
import type { ChannelMessage, CommandMessage, LaneMessage } from "./message.js";
import { joined, type Schemas } from "./schemas.js";

/** Encodes and decodes values with one type: a codec from `nowcast/codec`, or your own. */
export interface ValueCodec<T> {
  encode(value: T): Uint8Array;
  /**
   * Like `encode`, but into memory that the next call may overwrite. Lanes use it if it exists, because they copy at
   * once.
   */
  encodeShared?(value: T): Uint8Array;
  decode(bytes: Uint8Array): T;
  /**
   * The type's announcement, so that the peer can have another version of the type. Without it, your own codec works
   * only with peers that put bytes.
   */
  readonly schemaBytes?: Uint8Array;
  /** Returns a decoder for a peer's shape; throws if the shape cannot be read. Called once for each shape. */
  reading?(schemaBytes: Uint8Array): (body: Uint8Array) => T;
}

/** A message with its decoded value. */
export type Typed<T, M extends ChannelMessage = LaneMessage> = M extends ChannelMessage
  ? Omit<M, "value"> & { readonly value: T }
  : never;

/**
 * A lane whose values have one type, and whose replies have one type: by default the same. The peer may have another
 * version of a type: fields are matched by name.
 *
 * ```ts
 * for await (const message of channel.lane(3, poseCodec)) {
 *   if (message.type === "state") show(message.key, message.value.x);
 * }
 * ```
 *
 * Iterations are those of {@link Lane}. They throw the codec's error for a message that cannot be read. That message was
 * received, so another iteration continues after it.
 */
export class TypedLane<T, R = T> implements AsyncIterable<Typed<T>> {
  readonly #schemas: Schemas;
  readonly #values: ShapedReader<T>;
  readonly #replies: ShapedReader<R>;

  /** @internal */
  constructor(
    readonly lane: Lane,
    readonly codec: ValueCodec<T>,
    readonly replyCodec: ValueCodec<R>,
    schemas: Schemas,
  ) {
    this.#schemas = schemas;
    this.#values = new ShapedReader(codec);
    this.#replies = new ShapedReader(replyCodec);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Typed<T>, void> {
    for await (const message of this.lane) yield this.#typed(message);
  }

  /** See {@link Lane.receive}. */
  async receive(options?: WaitOptions): Promise<Typed<T> | undefined> {
    const message = await this.lane.receive(options);
    return message && this.#typed(message);
  }

  /** See {@link Lane.state}. */
  state(key: number | bigint, value: T): boolean {
    const bytes = this.#encode(value);
    return bytes !== undefined && this.lane.state(key, bytes);
  }

  /** See {@link Lane.event}. */
  event(value: T): boolean {
    const bytes = this.#encode(value);
    return bytes !== undefined && this.lane.event(bytes);
  }

  /** Like {@link Lane.command}. */
  async command(value: T, options?: CommandOptions): Promise<R> {
    options?.signal?.throwIfAborted();
    const bytes = this.#encode(value);
    if (bytes === undefined) throw this.lane.refusal;
    const reply = await this.lane.command(bytes, options);
    if (this.replyCodec.reading === undefined) return this.replyCodec.decode(reply);
    return this.#replies.read(...this.#schemas.split(reply, true));
  }

  /** Answers a command. */
  reply(command: Pick<CommandMessage, "type" | "lane" | "id">, value: R): boolean {
    const { schemaBytes } = this.replyCodec;
    const body = bodyOf(this.replyCodec, value);
    return this.lane.reply(
      command,
      schemaBytes ? joined(this.#schemas.headOfReply(schemaBytes), body) : body,
    );
  }

  /**
   * Returns a message of this lane with its value; `undefined` for a message of another lane. Throws the codec's error
   * if the bytes are invalid, or have a type that the codec cannot read. Codecs of `nowcast/codec` throw a `WireError`,
   * or an error that names the field.
   */
  read(message: ChannelMessage): Typed<T> | undefined {
    if (message.lane !== this.lane.number || message.type === "replication") return undefined;
    return this.#typed(message);
  }

  #typed(message: LaneMessage): Typed<T> {
    const isShaped = this.codec.reading !== undefined && this.#schemas.isTyped(message.lane);
    const [schema, body] = isShaped ? this.#schemas.split(message.value, false) : [undefined, message.value];
    return { ...message, value: this.#values.read(schema, body) };
  }

  /** Returns the bytes for a value; `undefined` if the lane has no room to announce the value's type to the peer. */
  #encode(value: T): Uint8Array | undefined {
    const { schemaBytes } = this.codec;
    const body = bodyOf(this.codec, value);
    if (schemaBytes === undefined) return body;
    const { lane } = this;
    const head = this.#schemas.announce(lane.number, schemaBytes, (event) => lane.announce(event));
    return head && joined(head, body);
  }
}

/** Reads bodies of the shapes that the peer has announced. */
class ShapedReader<T> {
  readonly #codec: ValueCodec<T>;
  readonly #readers = new Map<Uint8Array, (body: Uint8Array) => T>();

  constructor(codec: ValueCodec<T>) {
    this.#codec = codec;
  }

  /** Without a schema, the body has the codec's own shape. */
  read(schema: Uint8Array | undefined, body: Uint8Array): T {
    const codec = this.#codec;
    if (schema === undefined || codec.reading === undefined) return codec.decode(body);
    let read = this.#readers.get(schema);
    if (read === undefined) {
      const isOwn = schema.join() === codec.schemaBytes?.join();
      read = isOwn ? (own) => codec.decode(own) : codec.reading(schema);
      this.#readers.set(schema, read);
    }
    return read(body);
  }
}

function bodyOf<T>(codec: ValueCodec<T>, value: T): Uint8Array {
  return codec.encodeShared?.(value) ?? codec.encode(value);
}
