import { NowcastError, WireError } from "../errors/nowcast-error.js";
import { isSame } from "./past.js";
import { bitLength } from "./scale.js";
import type { Symbols } from "./symbols.js";

const COUNT_BITS = 24;
const GAP_BITS = 6;
const ID_MAX = 0xffff_ffff;

/** Codes the ids of a frame relative to those of the newest baseline (`spec/DELTA.md`, section 5). */
export function codeIds(
  symbols: Symbols,
  truth: Uint32Array | undefined,
  base: Uint32Array,
  entitiesMax: number,
): Uint32Array {
  if (truth !== undefined && truth.length > entitiesMax)
    throw new NowcastError("misuse", `${truth.length} entities, more than ${entitiesMax}`);
  if (symbols.plain(truth !== undefined && isSame(truth, base) ? 1 : 0, 1) === 1) return base;

  const wanted = new Set(truth);
  const ids: number[] = [];
  for (const id of base) if (symbols.plain(wanted.has(id) ? 1 : 0, 1) === 1) ids.push(id);
  const known = new Set(base);
  const added = truth === undefined ? [] : [...truth].filter((id) => !known.has(id));
  const count = symbols.plain(added.length, COUNT_BITS);
  if (ids.length + count > entitiesMax)
    throw new WireError(`${ids.length + count} entities, more than ${entitiesMax}`, symbols.at);
  let next = 0;
  for (let at = 0; at < count; at++) {
    const id = next + codeGap(symbols, truth === undefined ? 0 : added[at]! - next);
    if (id > ID_MAX) throw new WireError("an id beyond 32 bits", symbols.at);
    if (known.has(id)) throw new WireError(`id ${id} is new, but in the baseline`, symbols.at);
    ids.push(id);
    next = id + 1;
  }
  return Uint32Array.from(ids).sort();
}

function codeGap(symbols: Symbols, gap: number): number {
  const bits = symbols.plain(bitLength(gap), GAP_BITS);
  if (bits > 32) throw new WireError(`a gap of ${bits} bits`, symbols.at);
  return symbols.plain(gap, bits);
}
