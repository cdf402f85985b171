import { decode as decodeMsgpack, encode as encodeMsgpack } from "@msgpack/msgpack";
import { XMLBuilder, XMLParser } from "fast-xml-parser";
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
      handWritten(writeMedium, readMedium),
      protobuf<Medium>(proto.Medium),
      nowcastCodec<Medium>(mediumCodec),
      keptCodec<Medium>(mediumCodec),
    ]),
    suite("Big message", BIG, [
      handWritten(writeBig, readBig),
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
  const codecs = [json<T>(), ...own, ...msgpackCodecs<T>(), ...(Array.isArray(value) ? [] : [xml<T>()])];
  return { test: "messages", title, unit: "ns", value, codecs };
}

/** A suite whose binary codecs use 32-bit floats, as those of the article do. */
function single<T>(title: string, value: T, own: Codec<T>[]): Suite<T> {
  return { ...suite(title, value, own), single: true };
}

/** The reference: JSON text, in the form that a WebSocket sends. */
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

/** Static code of protobufjs, decoded to plain objects like the results of the other codecs. */
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

/** XML with one element per field; `list` names the elements that are always lists. */
export function xml<T>(list?: string): Codec<T> {
  const builder = new XMLBuilder();
  const parser = new XMLParser({ isArray: (name) => name === list });
  return {
    name: "XML (fast-xml-parser)",
    encode: (value) => builder.build({ root: value }),
    decode: (text) => (parser.parse(text as string) as { root: T }).root,
  };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Encodes as the article does: creates a buffer and a view, and writes a number and the text. */
function writeSmall({ text, num }: Small): Uint8Array {
  const { bytes, view } = fresh(1, [encoder.encode(text)]);
  view.setUint8(0, num);
  return bytes;
}

function readSmall(bytes: Uint8Array): Small {
  return { text: decoder.decode(bytes.subarray(1)), num: viewOf(bytes).getUint8(0) };
}

function writeMedium({ text, text2, num, decimal }: Medium): Uint8Array {
  const texts = [encoder.encode(text), encoder.encode(text2)];
  const { bytes, view } = fresh(7, texts);
  view.setUint8(0, texts[0]!.length);
  view.setUint16(1, num);
  view.setFloat32(3, decimal);
  return bytes;
}

function readMedium(bytes: Uint8Array): Medium {
  const view = viewOf(bytes);
  const middle = 7 + view.getUint8(0);
  return {
    text: decoder.decode(bytes.subarray(7, middle)),
    text2: decoder.decode(bytes.subarray(middle)),
    num: view.getUint16(1),
    decimal: view.getFloat32(3),
  };
}

function writeBig({ text, text2, text3, text4, num, decimal, num2, decimal2 }: Big): Uint8Array {
  const texts = [text, text2, text3, text4].map((text) => encoder.encode(text));
  const { bytes, view } = fresh(27, texts);
  for (let i = 0; i < 3; i++) view.setUint8(i, texts[i]!.length);
  view.setUint32(3, num);
  view.setFloat64(7, decimal);
  view.setInt32(15, num2);
  view.setFloat64(19, decimal2);
  return bytes;
}

function readBig(bytes: Uint8Array): Big {
  const view = viewOf(bytes);
  let at = 27;
  const next = (end: number): string => {
    const text = decoder.decode(bytes.subarray(at, end));
    at = end;
    return text;
  };
  return {
    text: next(at + view.getUint8(0)),
    text2: next(at + view.getUint8(1)),
    text3: next(at + view.getUint8(2)),
    text4: next(bytes.length),
    num: view.getUint32(3),
    decimal: view.getFloat64(7),
    num2: view.getInt32(15),
    decimal2: view.getFloat64(19),
  };
}

/** Makes a new buffer of `head` bytes and these texts. */
function fresh(head: number, texts: readonly Uint8Array[]): { bytes: Uint8Array; view: DataView } {
  let length = head;
  for (const text of texts) length += text.length;
  const buffer = new ArrayBuffer(length);
  const bytes = new Uint8Array(buffer);
  let at = head;
  for (const text of texts) {
    bytes.set(text, at);
    at += text.length;
  }
  return { bytes, view: new DataView(buffer) };
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
