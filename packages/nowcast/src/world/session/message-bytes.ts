/**
 * The messages of a world as bytes: the bodies that `spec/WIRE.md` has for the shapes of `messages.schema`, written out by
 * hand. A page that only joins a world is spared the general codec that way, half of what it would load.
 */
import { WireInput } from "../../codec/input.js";
import { readNumberColumn } from "../../codec/number-columns.js";
import { F32 } from "../../codec/numbers.js";
import { WireOutput } from "../../codec/output.js";
import type {
  Controls,
  FromWorld,
  Kind,
  Line,
  Missed,
  Place,
  Said,
  Thing,
  ToWorld,
} from "./generated/messages.js";

const TO_WORLD = { Join: 0, Grab: 1, Throw: 2, Rename: 3, Rate: 4, Forget: 5 } as const;
const FROM_WORLD = { Welcome: 0, Rate: 1, Notice: 2 } as const;
const KINDS: readonly Kind[] = ["Static", "Block", "Avatar"];
const RUN_BIT = 1;
const JUMP_BIT = 2;
const HELD_BIT = 1;
const PLACE_BIT = 2;

const utf8 = new TextEncoder();
const out = new WireOutput();

export function writeControls({ forward, right, yaw, run, jump }: Controls): Uint8Array<ArrayBuffer> {
  out.u8((run ? RUN_BIT : 0) | (jump ? JUMP_BIT : 0));
  for (const value of [forward, right, yaw]) putF32(value);
  return out.take();
}

export function writeLine({ text }: Line): Uint8Array<ArrayBuffer> {
  return utf8.encode(text);
}

export function writeToWorld(message: ToWorld): Uint8Array<ArrayBuffer> {
  if (message === "Forget") begin(0, TO_WORLD.Forget);
  else if ("Join" in message) {
    const { protocol, name, network_hz } = message.Join;
    const text = utf8.encode(name);
    begin(text.length, TO_WORLD.Join);
    putU32(protocol);
    out.varint(text.length);
    putU32(network_hz);
    out.raw(text);
  } else if ("Grab" in message) {
    const { block } = message.Grab;
    begin(0, TO_WORLD.Grab);
    out.u8(block === null ? 0 : 1);
    if (block !== null) putU32(block);
  } else if ("Throw" in message) {
    begin(0, TO_WORLD.Throw);
    putF32(message.Throw.power);
    putF32(message.Throw.pitch);
  } else if ("Rename" in message) {
    const text = utf8.encode(message.Rename.name);
    begin(text.length, TO_WORLD.Rename);
    out.varint(text.length);
    out.raw(text);
  } else {
    begin(0, TO_WORLD.Rate);
    putU32(message.Rate.network_hz);
  }
  return out.take();
}

/** Throws a `WireError` that names the place, as the other readers do. */
export function readFromWorld(body: Uint8Array): FromWorld {
  const input = open(body);
  const variant = input.u8("the variant");
  let message: FromWorld;
  if (variant === FROM_WORLD.Welcome) {
    const [protocol, id] = [u32(input, "protocol"), u32(input, "id")];
    const roomBytes = input.count("room");
    const [step_hz, network_hz] = [u32(input, "step_hz"), u32(input, "network_hz")];
    const tick = u64(input, "tick");
    message = { Welcome: { protocol, id, room: input.text(roomBytes), step_hz, network_hz, tick } };
  } else if (variant === FROM_WORLD.Rate) {
    message = { Rate: { network_hz: u32(input, "network_hz") } };
  } else if (variant === FROM_WORLD.Notice) {
    message = { Notice: { text: input.text(input.count("text")) } };
  } else {
    return input.fail(`variant ${variant} of ${Object.keys(FROM_WORLD).length}`);
  }
  input.mustEnd("the body");
  return message;
}

export function readThing(body: Uint8Array): Thing {
  const input = open(body);
  const bits = input.u8("the bits");
  if (bits > (HELD_BIT | PLACE_BIT)) input.fail("unused bits that are not zero");
  const kind = KINDS[input.u8("kind")];
  if (kind === undefined) return input.fail(`a kind beyond ${KINDS.length}`);
  const color = u32(input, "color");
  const size = vector(input, "size");
  const nameBytes = input.count("name");
  const held = (bits & HELD_BIT) === 0 ? null : u32(input, "held");
  const place = (bits & PLACE_BIT) === 0 ? null : readPlace(input);
  const name = input.text(nameBytes);
  input.mustEnd("the body");
  return { kind, color, size, name, held, place };
}

function readPlace(input: WireInput): Place {
  const position = vector(input, "position");
  // Four numbers are enough for a column.
  const [x, y, z, w] = readNumberColumn(input, F32, 4) as Float32Array;
  return { position, rotation: [x!, y!, z!, w!] };
}

export function readSaid(body: Uint8Array): Said {
  const input = new WireInput(body);
  const from = u32(input, "from");
  const nameBytes = input.count("name");
  // A flat body: the last text takes what is left.
  input.beginText(input.at, body.length);
  const name = input.text(nameBytes);
  const text = input.text(input.textLeft);
  input.mustEnd("the body");
  return { from, name, text };
}

export function readMissed(body: Uint8Array): Missed {
  const input = new WireInput(body);
  const lines = u32(input, "lines");
  input.mustEnd("the body");
  return { lines };
}

/** A body that is not flat. */
function open(body: Uint8Array): WireInput {
  const input = new WireInput(body);
  input.openText();
  return input;
}

function u32(input: WireInput, field: string): number {
  return input.view.getUint32(input.advance(4, field), true);
}

function u64(input: WireInput, field: string): number | bigint {
  const value = input.view.getBigUint64(input.advance(8, field), true);
  return value <= Number.MAX_SAFE_INTEGER ? Number(value) : value;
}

function vector(input: WireInput, field: string): [number, number, number] {
  const at = input.advance(12, field);
  const { view } = input;
  return [view.getFloat32(at, true), view.getFloat32(at + 4, true), view.getFloat32(at + 8, true)];
}

function begin(textBytes: number, variant: number): void {
  out.varint(textBytes);
  out.u8(variant);
}

function putU32(value: number): void {
  const at = out.reserve(4);
  out.view.setUint32(at, value, true);
}

function putF32(value: number): void {
  const at = out.reserve(4);
  out.view.setFloat32(at, value, true);
}
