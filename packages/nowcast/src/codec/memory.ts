/**
 * One piece of memory with views as numbers of several widths. Every engine that runs JavaScript
 * today is little-endian.
 *
 * Functions with loops over the memory are created for one piece of memory, and keep these views as constants. Engines
 * compile such loops to half as many instructions as loops over replaceable views.
 */
export interface Memory {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly view: DataView;
  readonly words: Int32Array;
  readonly singles: Float32Array;
  readonly doubles: Float64Array;
}

/** Allocates zeroed bytes. The system provides physical memory only for pages that are used. */
export function allocate(length: number): Memory {
  const buffer = new ArrayBuffer(Math.ceil(length / 8) * 8);
  return {
    bytes: new Uint8Array(buffer),
    view: new DataView(buffer),
    words: new Int32Array(buffer),
    singles: new Float32Array(buffer),
    doubles: new Float64Array(buffer),
  };
}
