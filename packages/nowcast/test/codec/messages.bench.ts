// Compares generated code with JSON: encodes and decodes the three messages of the article on WebSocket formats. Run it
// with `npx vitest bench --run messages`. Each sample is a hundred messages; look at p75, which other programs disturb
// least.
import { readFileSync } from "node:fs";
import { bench, describe } from "vitest";
import type { Codec } from "../../src/codec/index.js";
import { bigCodec, mediumCodec, smallCodec } from "../generated/messages.js";

const MESSAGES = 100;

const path = new URL("../../../../spec/vectors/wire/values.json", import.meta.url);
const { cases } = JSON.parse(readFileSync(path, "utf8")) as { cases: { name: string; body: string }[] };

function compare<T>(name: string, codec: Codec<T>): void {
  const body = Buffer.from(cases.find((candidate) => candidate.name === `source 004, ${name}`)!.body, "hex");
  const value = codec.decode(body);
  describe(`${name}, ${body.length} bytes, JSON ${JSON.stringify(value).length}`, () => {
    bench("JSON", () => {
      for (let i = 0; i < MESSAGES; i++) JSON.parse(JSON.stringify(value));
    });
    bench("generated", () => {
      for (let i = 0; i < MESSAGES; i++) codec.decode(codec.encode(value));
    });
  });
}

compare("small", smallCodec);
compare("medium", mediumCodec);
compare("big", bigCodec);
