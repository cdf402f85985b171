import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { decodeMsgpack } from "../../src/codec/index.js";
import { ENCODINGS, type Encoding, type Field } from "../../src/world/index.js";
import { eulerToQuaternion } from "../../src/world/interpolation/rotation.js";
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

type Named = Readonly<Record<string, unknown>>;

/** A decoded message in the form of the specification, with optional fields. */
function asSpecified(message: ServerMessage): Named {
  switch (message.type) {
    case "welcome":
      return { protocol: 2, ...message };
    case "define": {
      const { version, kinds, actions, events } = message.definition;
      return {
        type: "define",
        version,
        kinds: kinds.map((kind) => ({
          ...kind,
          body: kind.body ?? null,
          walker: kind.walker ?? null,
          look: kind.look ?? null,
          attributes: typesOf(kind.attributes),
        })),
        actions: actions.map((action) => ({
          ...action,
          arguments: typesOf(action.arguments),
          hint: action.hint ?? null,
        })),
        events: events.map(({ name, payload }) => ({ name, payload: typesOf(payload) })),
      };
    }
    case "spawn": {
      const entities = message.entities.map(({ position, rotation, parent, ...rest }) => ({
        ...rest,
        parent: parent ?? null,
        p: position,
        r: rotation,
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
    case "player":
      return { ...message, avatar: message.avatar ?? null };
    default:
      return message;
  }
}

function typesOf(fields: readonly Field[]): Named {
  return Object.fromEntries(fields.map(({ name, type }) => [name, type]));
}

/** Completes a message of the vectors with all optional fields. */
function whole(message: object): Named {
  const named = message as Named;
  const each = (key: string, defaults: Named): Named[] =>
    ((named[key] ?? []) as Named[]).map((item) => ({ ...defaults, ...item }));
  switch (named["type"]) {
    case "define":
      return {
        ...named,
        kinds: each("kinds", { body: null, walker: null, look: null }),
        actions: each("actions", { hint: null, durable: false }),
      };
    case "spawn":
      return {
        ...named,
        entities: each("entities", { scale: [1, 1, 1], parent: null }).map(({ r, ...rest }) => {
          const rotation = [0, 0, 0, 1];
          eulerToQuaternion(...(r as [number, number, number]), rotation);
          return { ...rest, r: rotation };
        }),
      };
    default:
      return named;
  }
}

describe.each(ENCODINGS)("the vectors of the plain protocol in %s", (encoding) => {
  it.each(vectors("server-messages.json"))("read: $name", (vector) => {
    const frame = vector[encoding];
    const message = new PlainDecoder(encoding).decode(bytes(frame));
    expect(asSpecified(message!)).toEqual(whole(frame.decoded ?? vector.message));
  });

  it.each(vectors("client-messages.json"))("written: $name", (vector) => {
    const written = encodeClientMessage(vector.message as ClientMessage, encoding);
    const frame = vector[encoding];
    if (typeof written === "string") expect(JSON.parse(written)).toEqual(JSON.parse(frame.text!));
    else if (encoding === "msgpack") expect(decodeMsgpack(written)).toEqual(vector.message);
    else expect(Buffer.from(written).toString("hex")).toBe(frame.hex);
  });
});
