import type { CommandOptions, EventOptions, Lane } from "./lane.js";
import type { ChannelMessage, CommandMessage } from "./message.js";
import { joined, type Schemas } from "./schemas.js";

/** Bytes of one type, there and back: one of `nowcast/codec`, or your own. */
export interface ValueCodec<T> {
  encode(value: T): Uint8Array;
  /** As `encode`, into memory that the next call may write again; used where there is one, because a lane copies at once. */
  encodeShared?(value: T): Uint8Array;
  decode(bytes: Uint8Array): T;
  /**
   * The announcement of the type, so that the peer can have another version of it. A codec of your own without it is for peers
   * that put bytes.
   */
  readonly schemaBytes?: Uint8Array;
  /** Reads what a peer with this shape encodes; throws where it cannot. Asked once for each shape. */
  reading?(schemaBytes: Uint8Array): (body: Uint8Array) => T;
}

/** A message with the value that its bytes stand for. */
export type Typed<T, M extends ChannelMessage = ChannelMessage> = M extends ChannelMessage
  ? Omit<M, "value"> & { readonly value: T }
  : never;

/** A lane whose values are all of one type. The peer may have another version of it: fields are matched by name. */
export class TypedLane<T> {
  readonly #schemas: Schemas;
  /** How values of each shape that the peer has announced are read. */
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

  /** See {@link Lane.command}; the reply is of the same type. */
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
   * A message of this lane with its value; `undefined` for one of another lane. Throws what the codec throws for bytes that
   * are none of its own, or of a type that it cannot read: a `WireError`, or one that names the field, from those of `nowcast/codec`.
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

  /** Returns the bytes for a value; nothing where the peer could not learn its type. */
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
