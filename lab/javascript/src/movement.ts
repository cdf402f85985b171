import * as proto from "./generated/messages-proto.js";
import { movesCodec } from "./generated/nowcast.js";
import { json, msgpackCodecs, protobuf, xml } from "./messages.js";
import { nowcastCodec } from "./nowcast-codec.js";
import type { Codec, Move, Suite } from "./types.js";

/** The movement stream of "A wire protocol": one frame of 1,000 entities, exact. */
export function movementSuite(moves: Move[]): Suite<Move[]> {
  const packed = protobuf<{ moves: Move[] }>(proto.Moves);
  const own = nowcastCodec(movesCodec);
  const text = xml<{ moves: Move[] }>("moves");
  return {
    test: "movement",
    title: "Movement of 1,000 entities",
    unit: "µs",
    value: moves,
    codecs: [
      json(),
      { name: "custom packets, as in the source", encode: writePackets, decode: readPackets },
      { name: "custom, one buffer", encode: writeBuffer, decode: readBuffer },
      {
        name: packed.name,
        encode: (value) => packed.encode({ moves: value }),
        decode: (bytes) => packed.decode(bytes).moves,
      },
      ...msgpackCodecs<Move[]>(),
      {
        name: own.name,
        encode: (value) => own.encode({ moves: value }),
        decode: (bytes) => own.decode(bytes).moves,
      },
      {
        name: text.name,
        encode: (value) => text.encode({ moves: value }),
        decode: (bytes) => text.decode(bytes).moves,
      },
    ],
  };
}

const MOVE_BYTES = 31;
const HEADER = 0x4d56;

function writeMove(view: DataView, at: number, move: Move): void {
  view.setUint32(at, move.id, true);
  view.setFloat64(at + 4, move.positionX, true);
  view.setFloat64(at + 12, move.positionY, true);
  view.setFloat64(at + 20, move.positionZ, true);
  view.setUint8(at + 28, move.eulerX);
  view.setUint8(at + 29, move.eulerY);
  view.setUint8(at + 30, move.eulerZ);
}

function readMove(view: DataView, at: number): Move {
  return {
    id: view.getUint32(at, true),
    positionX: view.getFloat64(at + 4, true),
    positionY: view.getFloat64(at + 12, true),
    positionZ: view.getFloat64(at + 20, true),
    eulerX: view.getUint8(at + 28),
    eulerY: view.getUint8(at + 29),
    eulerZ: view.getUint8(at + 30),
  };
}

/** Each entity is a separate packet, as in the article, and the packets are concatenated. */
const writePackets: Codec<Move[]>["encode"] = (moves) => {
  const packets = moves.map((move) => {
    const packet = new ArrayBuffer(2 + MOVE_BYTES);
    const view = new DataView(packet);
    view.setUint16(0, HEADER, true);
    writeMove(view, 2, move);
    return new Uint8Array(packet);
  });
  const all = new Uint8Array(packets.length * (2 + MOVE_BYTES));
  packets.forEach((packet, i) => {
    all.set(packet, i * (2 + MOVE_BYTES));
  });
  return all;
};

const readPackets: Codec<Move[]>["decode"] = (encoded) => {
  const bytes = encoded as Uint8Array;
  const moves: Move[] = [];
  for (let at = 0; at < bytes.length; at += 2 + MOVE_BYTES) {
    const view = new DataView(bytes.buffer, bytes.byteOffset + at, 2 + MOVE_BYTES);
    if (view.getUint16(0, true) !== HEADER) throw new Error("a packet is damaged");
    moves.push(readMove(view, 2));
  }
  return moves;
};

/** One loop over a reused buffer: code that an expert would write by hand. */
let kept = new ArrayBuffer(0);
const writeBuffer: Codec<Move[]>["encode"] = (moves) => {
  const length = 4 + moves.length * MOVE_BYTES;
  if (kept.byteLength < length) kept = new ArrayBuffer(length);
  const view = new DataView(kept);
  view.setUint32(0, moves.length, true);
  for (let i = 0; i < moves.length; i++) writeMove(view, 4 + i * MOVE_BYTES, moves[i]!);
  return new Uint8Array(kept, 0, length);
};

const readBuffer: Codec<Move[]>["decode"] = (encoded) => {
  const bytes = encoded as Uint8Array;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const count = view.getUint32(0, true);
  if (bytes.length !== 4 + count * MOVE_BYTES) throw new Error("the count does not fit");
  const moves = new Array<Move>(count);
  for (let i = 0; i < count; i++) moves[i] = readMove(view, 4 + i * MOVE_BYTES);
  return moves;
};
