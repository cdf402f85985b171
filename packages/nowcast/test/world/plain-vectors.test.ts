import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { decodeMsgpack } from "../../src/codec/index.js";
import { ENCODINGS, type Encoding } from "../../src/world/index.js";
import { PlainDecoder } from "../../src/world/plain/decode.js";
import { encodeClientMessage } from "../../src/world/plain/encode.js";
import type { ClientMessage, ServerMessage } from "../../src/world/plain/messages.js";

type Frame = { readonly text?: string; readonly hex?: string; readonly decoded?: object };
type Vector = { readonly name: string; readonly message: object } & Readonly<Record<Encoding, Frame>>;

function vectors(file: string): Vector[] {
  const path = new URL(`../../../../spec/vectors/plain/${file}`, import.meta.url);
  return (JSON.parse(readFileSync(path, "utf8")) as { vectors: Vector[] }).vectors;
}

function bytes(frame: Frame): string | Uint8Array {
  return frame.text ?? new Uint8Array(Buffer.from(frame.hex!, "hex"));
}

/** A decoded message in the words of the specification. */
function asSpecified(message: ServerMessage): object {
  switch (message.type) {
    case "welcome":
      return { protocol: 1, ...message };
    case "spawn": {
      const entities = message.entities.map(({ position, euler, size, name, ...rest }) => ({
        ...rest,
        ...(size === undefined ? {} : { size }),
        ...(name === undefined ? {} : { name }),
        p: position,
        r: euler,
      }));
      return { type: "spawn", entities };
    }
    case "move": {
      const entities = Array.from({ length: message.count }, (_, i) => {
        const [positionX, positionY, positionZ, eulerX, eulerY, eulerZ] = message.poses.subarray(i * 6);
        return { id: message.ids[i], positionX, positionY, positionZ, eulerX, eulerY, eulerZ };
      });
      return { type: "move", tick: message.tick, entities };
    }
    case "hold":
      return { ...message, block: message.block ?? null };
    default:
      return message;
  }
}

describe.each(ENCODINGS)("the vectors of the plain protocol in %s", (encoding) => {
  it.each(vectors("server-messages.json"))("read: $name", (vector) => {
    const frame = vector[encoding];
    const message = new PlainDecoder(encoding).decode(bytes(frame));
    expect(asSpecified(message!)).toEqual(frame.decoded ?? vector.message);
  });

  it.each(vectors("client-messages.json"))("written: $name", (vector) => {
    const written = encodeClientMessage(vector.message as ClientMessage, encoding);
    const frame = vector[encoding];
    if (typeof written === "string") expect(JSON.parse(written)).toEqual(JSON.parse(frame.text!));
    else if (encoding === "msgpack") expect(decodeMsgpack(written)).toEqual(vector.message);
    else expect(Buffer.from(written).toString("hex")).toBe(frame.hex);
  });
});
