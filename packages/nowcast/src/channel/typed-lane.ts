import type { CommandOptions, EventOptions, Lane } from "./lane.js";
import type { ChannelMessage, CommandMessage } from "./message.js";
import { joined, type Schemas } from "./schemas.js";

/** Encodes and decodes values of one type: a codec of `nowcast/codec`, or your own. */
export interface ValueCodec<T> {
  encode(value: T): Uint8Array;
  /**
   * Like `encode`, but into memory that the next call may overwrite. Lanes use it if it exists, because they copy at
   * once.
   */
  encodeShared?(value: T): Uint8Array;
  decode(bytes: Uint8Array): T;
  /**
   * The announcement of the type, so that the peer can have another version of it. Without it, your own codec works
   * only with peers that put bytes.
   */
  readonly schemaBytes?: Uint8Array;
  /** Returns a decoder for a peer's shape; throws if the shape cannot be read. Called once for each shape. */
  reading?(schemaBytes: Uint8Array): (body: Uint8Array) => T;
}

/** A message with its decoded value. */
export type Typed<T, M extends ChannelMessage = ChannelMessage> = M extends ChannelMessage
  ? Omit<M, "value"> & { readonly value: T }
  : never;

/** A lane whose values all have one type. The peer may have another version of the type: fields are matched by name. */
export class TypedLane<T> {
  readonly #schemas: Schemas;
  /** The decoders of the shapes that the peer has announced. */
  readonly #readers = new Map<Uint8Array, (body: Uint8Array) => T>();

  constructor(
    readonly lane: Lane,
    readonly codec: ValueCodec<T>,
    schemas: Schemas,
  ) {
    this.#schemas = schemas;
  }

  /** See {@link Lane.state}. */
  state(key: number | bigint, value: T): boolean {
    const bytes = this.#encode(value);
    return bytes !== undefined && this.lane.state(key, bytes);
  }

  /** See {@link Lane.event}. */
  event(value: T, options?: EventOptions): number | false {
    const bytes = this.#encode(value);
    return bytes !== undefined && this.lane.event(bytes, options);
  }

  /** Like {@link Lane.command}. The reply has the same type as the command. */
  async command(value: T, options?: CommandOptions): Promise<T> {
    options?.signal?.throwIfAborted();
    const bytes = this.#encode(value);
    if (bytes === undefined) throw this.lane.refusal;
    return this.#decode(await this.lane.command(bytes, options), true);
  }

  /** Answers a command. */
  reply(command: Pick<CommandMessage, "type" | "lane" | "id">, value: T): boolean {
    const { schemaBytes } = this.codec;
    const body = this.#body(value);
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
    const isTyped = this.#schemas.isTyped(message.lane);
    return {
      ...message,
      value: isTyped ? this.#decode(message.value, false) : this.codec.decode(message.value),
    };
  }

  #decode(bytes: Uint8Array, isReply: boolean): T {
    const { codec } = this;
    if (codec.reading === undefined) return codec.decode(bytes);
    const [schema, body] = this.#schemas.split(bytes, isReply);
    if (schema === undefined) return codec.decode(body);
    let read = this.#readers.get(schema);
    if (read === undefined) {
      read = schema.join() === codec.schemaBytes?.join() ? (own) => codec.decode(own) : codec.reading(schema);
      this.#readers.set(schema, read);
    }
    return read(body);
  }

  /** Returns the bytes for a value; `undefined` if the lane has no room to announce the value's type to the peer. */
  #encode(value: T): Uint8Array | undefined {
    const { schemaBytes } = this.codec;
    const body = this.#body(value);
    if (schemaBytes === undefined) return body;
    const { lane } = this;
    const head = this.#schemas.announce(lane.number, schemaBytes, (event) => lane.announce(event));
    return head && joined(head, body);
  }

  #body(value: T): Uint8Array {
    return this.codec.encodeShared?.(value) ?? this.codec.encode(value);
  }
}
