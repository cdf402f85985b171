import { decodeMsgpack } from "../../codec/msgpack-reader.js";
import { NowcastError } from "../../errors/nowcast-error.js";
import { ENTITIES_MAX } from "../entity-table.js";
import type { Encoding, PlayerId } from "../world.js";
import {
  malformed,
  type RawObject,
  readArray,
  readField,
  readFlag,
  readId,
  readNumber,
  readObject,
  readText,
  readTick,
} from "./fields.js";
import { type MoveMessage, PROTOCOL_VERSION, type ServerMessage } from "./messages.js";
import { readWorldMessage } from "./world-messages.js";

/**
 * The largest message that is accepted: 4 MiB, enough for about thirty thousand entities in the
 * widest encoding.
 */
export const MESSAGE_BYTES_MAX = 4 * 1024 * 1024;

const MOVE_TYPE = 1;
const MOVE_HEAD_BYTES = 6;
const CUSTOM_RECORD_BYTES = 31;
const CUSTOM16_RECORD_BYTES = 22;
const TAU = Math.PI * 2;

/**
 * Decodes a server's messages in one encoding. Use one decoder for each connection, because its
 * movement buffers are reused.
 */
export class PlainDecoder {
  readonly #encoding: Encoding;
  readonly #move = new MoveBuffer();

  constructor(encoding: Encoding) {
    this.#encoding = encoding;
  }

  /**
   * Returns the message, or `undefined` for a type that only later versions define. Throws a {@link
   * NowcastError} that names the field if the message violates `spec/PLAIN.md`.
   */
  decode(data: string | Uint8Array): ServerMessage | undefined {
    if (data.length > MESSAGE_BYTES_MAX) {
      throw new NowcastError("peer-misbehaved", `a message of more than ${MESSAGE_BYTES_MAX} bytes`, {
        code: "limit_exceeded",
      });
    }
    if (typeof data !== "string") return this.#binary(data);
    if (this.#encoding === "msgpack") throw malformed("message", "a binary frame");
    let parsed: unknown;
    try {
      parsed = JSON.parse(data);
    } catch (error) {
      throw malformed("message", `JSON (${(error as Error).message})`);
    }
    return this.#object(readObject(parsed, "message"));
  }

  #binary(bytes: Uint8Array): ServerMessage | undefined {
    switch (this.#encoding) {
      case "json":
        throw malformed("message", "a text frame");
      case "msgpack":
        return this.#object(readObject(decodeMsgpack(bytes), "message"));
      case "custom":
        return this.#packed(bytes, CUSTOM_RECORD_BYTES);
      case "custom16":
        return this.#packed(bytes, CUSTOM16_RECORD_BYTES);
    }
  }

  #object(message: RawObject): ServerMessage | undefined {
    const type = readText(readField(message, "type"), "type", 64);
    const field = (key: string): unknown => readField(message, key);
    switch (type) {
      case "welcome":
        return readWelcome(message);
      case "move":
        return this.#moveObjects(message);
      case "chat":
        return {
          type,
          from: readId<PlayerId>(field("from"), "chat.from"),
          name: readText(field("name"), "chat.name"),
          text: readText(field("text"), "chat.text"),
        };
      case "pong":
        return { type, time: readNumber(field("time"), "pong.time") };
      case "rate":
        return { type, hz: readNumber(field("hz"), "rate.hz") };
      case "notice":
        return { type, text: readText(field("text"), "notice.text") };
      case "unsaid":
        return {
          type,
          text: readText(field("text"), "unsaid.text"),
          reason: readText(field("reason"), "unsaid.reason"),
        };
      case "missed":
        return { type, lines: readTick(field("lines"), "missed.lines") };
      default:
        return readWorldMessage(type, message);
    }
  }

  #moveObjects(message: RawObject): MoveMessage {
    const entities = readArray(readField(message, "entities"), "move.entities", ENTITIES_MAX);
    const move = this.#move.begin(readTick(readField(message, "tick"), "move.tick"), entities.length);
    for (let i = 0; i < entities.length; i++) {
      const path = `move.entities[${i}]`;
      const entity = readObject(entities[i], path);
      move.ids[i] = readId(readField(entity, "id"), `${path}.id`);
      for (let axis = 0; axis < POSE_KEYS.length; axis++) {
        const key = POSE_KEYS[axis]!;
        move.poses[i * 6 + axis] = readNumber(readField(entity, key), `${path}.${key}`);
      }
    }
    return move;
  }

  #packed(bytes: Uint8Array, recordBytes: number): MoveMessage {
    const count = (bytes.length - MOVE_HEAD_BYTES) / recordBytes;
    if (!Number.isInteger(count) || count < 0) {
      throw malformed(
        `a packed move of ${bytes.length} bytes`,
        `6 bytes and whole records of ${recordBytes}`,
      );
    }
    if (count > ENTITIES_MAX) throw malformed("move", `at most ${ENTITIES_MAX} records`);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const type = view.getUint16(0, true);
    if (type !== MOVE_TYPE) throw malformed("the packed type", `${MOVE_TYPE}, not ${type}`);
    const move = this.#move.begin(view.getUint32(2, true), count);
    const read = recordBytes === CUSTOM_RECORD_BYTES ? readCustomPose : readCustom16Pose;
    for (let i = 0, at = MOVE_HEAD_BYTES; i < count; i++, at += recordBytes) {
      move.ids[i] = view.getUint32(at, true);
      read(view, at + 4, move.poses, i * 6);
      for (let axis = 0; axis < 3; axis++)
        readNumber(move.poses[i * 6 + axis], `move record ${i}, axis ${axis}`);
    }
    return move;
  }
}

const POSE_KEYS = ["positionX", "positionY", "positionZ", "eulerX", "eulerY", "eulerZ"] as const;

/** Movement columns that grow and are reused. */
class MoveBuffer implements MoveMessage {
  readonly type = "move";
  tick = 0;
  count = 0;
  ids = new Uint32Array(64);
  poses = new Float64Array(64 * 6);

  begin(tick: number, count: number): this {
    this.tick = tick;
    this.count = count;
    if (count > this.ids.length) {
      const capacity = Math.max(count, this.ids.length * 2);
      this.ids = new Uint32Array(capacity);
      this.poses = new Float64Array(capacity * 6);
    }
    return this;
  }
}

function readCustomPose(view: DataView, at: number, poses: Float64Array, into: number): void {
  for (let axis = 0; axis < 3; axis++) {
    poses[into + axis] = view.getFloat64(at + axis * 8, true);
    poses[into + 3 + axis] = (view.getUint8(at + 24 + axis) / 256) * TAU;
  }
}

function readCustom16Pose(view: DataView, at: number, poses: Float64Array, into: number): void {
  for (let axis = 0; axis < 3; axis++) {
    poses[into + axis] = view.getFloat32(at + axis * 4, true);
    poses[into + 3 + axis] = (view.getUint16(at + 12 + axis * 2, true) / 65_536) * TAU;
  }
}

function readWelcome(message: RawObject): ServerMessage {
  const protocol = readField(message, "protocol");
  if (protocol !== PROTOCOL_VERSION) {
    throw new NowcastError(
      "peer-incompatible",
      `the server speaks version ${String(protocol)} of the plain protocol, this SDK ${PROTOCOL_VERSION}`,
    );
  }
  return {
    type: "welcome",
    player: readId<PlayerId>(readField(message, "player"), "welcome.player"),
    resumed: readFlag(readField(message, "resumed") ?? false, "welcome.resumed"),
    room: readText(readField(message, "room"), "welcome.room"),
    world: readText(readField(message, "world"), "welcome.world"),
    stepHz: readNumber(readField(message, "stepHz"), "welcome.stepHz"),
    networkHz: readNumber(readField(message, "networkHz"), "welcome.networkHz"),
    tick: readTick(readField(message, "tick"), "welcome.tick"),
  };
}
