import type { DeltaColumn, DeltaFrame } from "../../src/delta/frame.js";

/** Encodes a frame without baselines (`spec/DELTA.md`). */
export function writeWholeFrame(columns: readonly DeltaColumn[], { ids, values }: DeltaFrame): Uint8Array {
  const bits: number[] = [];
  const plain = (value: number, count: number): void => {
    for (let bit = 0; bit < count; bit++) bits.push(Math.floor(value / 2 ** bit) % 2);
  };
  plain(ids.length === 0 ? 1 : 0, 1);
  if (ids.length > 0) plain(ids.length, 24);
  let next = 0;
  for (const id of ids) {
    const width = 32 - Math.clz32(id - next);
    plain(width, 6);
    plain(id - next, width);
    next = id + 1;
  }
  const means = new Map<string, number>();
  let rowError = 0;
  for (let row = 0; row < ids.length; row++) {
    let isFirst = true;
    columns.forEach(({ kind }, column) => {
      const at = row * columns.length + column;
      const residual = (values[at]! - (row === 0 ? 0 : values[at - columns.length]!)) | 0;
      if (kind === "largest") {
        rice(residual & 3, 0);
        return;
      }
      const situation = `${column} ${magnitude(rowError) >> 1}`;
      // Nothing is known about a new row, so its values have the error 4,096, whose means start at this size.
      const mean = means.get(situation) ?? 2 << 12;
      const zigzag = ((residual << 1) ^ (residual >> 31)) >>> 0;
      rice(zigzag, 32 - Math.clz32(Math.floor(mean / 22)));
      means.set(situation, (31 * mean + 16 * Math.min(zigzag, 65_536)) >> 5);
      const size = 16 * Math.min(Math.abs(residual), 4000);
      rowError = isFirst ? size : (rowError + size) >> 1;
      isFirst = false;
    });
  }
  const bytes = new Uint8Array(1 + Math.ceil(bits.length / 8));
  bits.forEach((bit, at) => {
    bytes[1 + (at >> 3)]! |= bit << (at & 7);
  });
  return bytes;

  function rice(value: number, shift: number): void {
    const ones = Math.min(value >>> shift, 20);
    plain(2 ** ones - 1, ones);
    if (ones === 20) return plain(value, 32);
    plain(0, 1);
    plain(value, shift);
  }
}

function magnitude(size: number): number {
  if (size < 4) return size;
  const octave = Math.floor(Math.log2(size));
  return Math.min(2 * octave + (Math.floor(size / 2 ** (octave - 1)) % 2), 31);
}
