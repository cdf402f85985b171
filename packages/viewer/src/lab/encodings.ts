/**
 * Measures the encoding of a thousand moving entities in this browser: as JSON, as MessagePack, and by Nowcast's own
 * codec.
 */
import { decodeMsgpack, encodeMsgpack } from "nowcast/codec";
import { movesCodec } from "../../../lab/src/generated/nowcast.js";

const COUNT = 1_000;
const LEAST_MS = 150;

export interface EncodingFigure {
  readonly name: string;
  readonly bytes: number;
  readonly encodeUs: number;
  readonly decodeUs: number;
}

export function measureEncodings(): EncodingFigure[] {
  const move = Array.from({ length: COUNT }, (_, id) => ({
    id,
    positionX: Math.sin(id) * 40,
    positionY: id / 7,
    positionZ: Math.cos(id * 1.3) * 40,
    eulerX: id % 256,
    eulerY: (id * 7) % 256,
    eulerZ: (id * 13) % 256,
  }));
  const moves = { moves: move };
  const [encoder, decoder] = [new TextEncoder(), new TextDecoder()];
  return [
    figure(
      "JSON",
      () => encoder.encode(JSON.stringify(moves)),
      (bytes) => JSON.parse(decoder.decode(bytes)),
    ),
    figure("MessagePack", () => encodeMsgpack(moves), decodeMsgpack),
    figure(
      "Nowcast",
      () => movesCodec.encode(moves),
      (bytes) => movesCodec.decode(bytes),
    ),
  ];
}

function figure(
  name: string,
  encode: () => Uint8Array,
  decode: (bytes: Uint8Array) => unknown,
): EncodingFigure {
  const bytes = encode();
  return { name, bytes: bytes.length, encodeUs: timeUs(encode), decodeUs: timeUs(() => decode(bytes)) };
}

/** Mean time, after a warm-up, over enough rounds for the coarse clock of a page. */
function timeUs(run: () => unknown): number {
  for (let warm = 0; warm < 5; warm += 1) run();
  const start = performance.now();
  let rounds = 0;
  while (performance.now() - start < LEAST_MS) {
    run();
    rounds += 1;
  }
  return ((performance.now() - start) * 1_000) / rounds;
}
