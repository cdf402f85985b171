import { decode as decodeMsgpack, encode as encodeMsgpack } from "@msgpack/msgpack";
import { Packr } from "msgpackr";
import * as proto from "./generated/messages-proto.js";
import { batchCodec, bigCodec, mediumCodec, smallCodec } from "./generated/nowcast.js";
import { keptCodec, nowcastCodec } from "./nowcast-codec.js";
import type { Codec, Suite } from "./types.js";

interface Small {
  text: string;
  num: number;
}
interface Medium extends Small {
  text2: string;
  decimal: number;
}
interface Big extends Medium {
  text3: string;
  text4: string;
  num2: number;
  decimal2: number;
}

const SMALL: Small = { text: "Hello World!", num: 123 };
const MEDIUM: Medium = {
  text: "Hello World!",
  text2: "Lorem ipsum dolor sit amet, consectetur adipiscing.",
  num: 12345,
  // biome-ignore lint/suspicious/noApproximativeNumericConstant: the article's own number.
  decimal: 3.1415926,
};
const BIG: Big = {
  text: "Hello World!",
  text2:
    "Lorem ipsum dolor sit amet, consectetur adipiscing elit. Maecenas rutrum odio dolor, a egestas dui bibendum at.",
  text3: "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
  text4: "The quick brown fox jumps over the lazy dog.",
  num: 123456789,
  decimal: Math.PI,
  num2: -123456789,
  decimal2: -Math.PI,
};
const BATCH: Big[] = Array.from({ length: 32 }, (_, i) => ({ ...BIG, num: BIG.num + i }));

/** The three messages of the WebSocket formats article, and 32 of the big one as one batch. */
export function messageSuites(): Suite<unknown>[] {
  return [
    suite("Small message", SMALL, [
      handWritten(writeSmall, readSmall),
      protobuf<Small>(proto.Small),
      nowcastCodec<Small>(smallCodec),
      keptCodec<Small>(smallCodec),
    ]),
    single("Medium message", MEDIUM, [
      protobuf<Medium>(proto.Medium),
      nowcastCodec<Medium>(mediumCodec),
      keptCodec<Medium>(mediumCodec),
    ]),
    suite("Big message", BIG, [
      protobuf<Big>(proto.Big),
      nowcastCodec<Big>(bigCodec),
      keptCodec<Big>(bigCodec),
    ]),
    suite("32 big messages in one batch", BATCH, [
      batched(protobuf<{ messages: Big[] }>(proto.Batch)),
      batched(nowcastCodec(batchCodec)),
    ]),
  ] as Suite<unknown>[];
}

function suite<T>(title: string, value: T, own: Codec<T>[]): Suite<T> {
  const codecs = [json<T>(), ...own, ...msgpackCodecs<T>()];
  return { test: "messages", title, unit: "ns", value, codecs };
}

/** A suite whose binary codecs carry 32-bit floats, as the article's do. */
function single<T>(title: string, value: T, own: Codec<T>[]): Suite<T> {
  return { ...suite(title, value, own), single: true };
}

/** The reference: text in, text out, as a WebSocket takes it. */
export function json<T>(): Codec<T> {
  return {
    name: "JSON",
    encode: (value) => JSON.stringify(value),
    decode: (text) => JSON.parse(text as string) as T,
  };
}

/** `@msgpack/msgpack`, and `msgpackr` with names in every message and with records that both ends share. */
export function msgpackCodecs<T>(): Codec<T>[] {
  const plain = new Packr({ useRecords: false });
  const structures: object[] = [];
  const records = new Packr({ useRecords: true, structures: structures as never });
  return [
    {
      name: "@msgpack/msgpack",
      encode: (value) => encodeMsgpack(value),
      decode: (bytes) => decodeMsgpack(bytes as Uint8Array) as T,
    },
    {
      name: "msgpackr, names",
      encode: (value) => plain.pack(value),
      decode: (bytes) => plain.unpack(bytes as Uint8Array) as T,
    },
    {
      name: "msgpackr, shared records",
      encode: (value) => records.pack(value),
      decode: (bytes) => records.unpack(bytes as Uint8Array) as T,
    },
  ];
}

/** Static code of protobufjs, decoded to plain objects as the other codecs return them. */
export function protobuf<T extends object>(type: typeof proto.Small): Codec<T> {
  return {
    name: "protobufjs, static code",
    encode: (value) => type.encode(value).finish(),
    decode: (bytes) => type.decode(bytes as Uint8Array) as T,
  };
}

function batched(codec: Codec<{ messages: Big[] }>): Codec<Big[]> {
  return {
    name: codec.name,
    encode: (messages) => codec.encode({ messages }),
    decode: (bytes) => codec.decode(bytes).messages,
  };
}

function handWritten<T>(encode: (value: T) => Uint8Array, decode: (bytes: Uint8Array) => T): Codec<T> {
  return { name: "hand-written, as in the source", encode, decode: (bytes) => decode(bytes as Uint8Array) };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What the article does: a fresh buffer, a view, a number, the text. */
function writeSmall({ text, num }: Small): Uint8Array {
  const bytes = encoder.encode(text);
  const buffer = new ArrayBuffer(1 + bytes.length);
  new DataView(buffer).setUint8(0, num);
  const all = new Uint8Array(buffer);
  all.set(bytes, 1);
  return all;
}

function readSmall(bytes: Uint8Array): Small {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { text: decoder.decode(bytes.subarray(1)), num: view.getUint8(0) };
}
