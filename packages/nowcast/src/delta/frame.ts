/** The state of all replicated entities at one tick. */
export interface DeltaFrame {
  /** The time of the frame, unsigned 32-bit, in steps of a constant length. */
  readonly tick: number;
  /** The ids of the entities, strictly rising. */
  readonly ids: Uint32Array;
  /** The rows, one after the other in the order of the ids. */
  readonly values: Int32Array;
}

/** One property of an entity, quantised to whole numbers (`spec/DELTA.md`, section 2). */
export type DeltaField =
  /** One column: any signed 32-bit number; differences wrap. */
  | { readonly kind: "number" }
  /**
   * Four columns: the index of the largest of x, y, z, w, then the other three in `bits` (2 to 15) bits each. With M =
   * 2^`bits` − 1, a stored s means (2s − M) / (M√2), and the largest is positive.
   */
  | { readonly kind: "orientation"; readonly bits: number };

/** The type of a number in a row. */
export type DeltaColumn =
  | { readonly kind: "number" | "largest" }
  /** A component of an orientation. `first` is the column with the index of the largest component. */
  | { readonly kind: "component"; readonly bits: number; readonly first: number };

/** The columns of a frame. Both ends agree on them beforehand. */
export function columnsOf(fields: readonly DeltaField[]): readonly DeltaColumn[] {
  const columns: DeltaColumn[] = [];
  for (const field of fields) {
    const first = columns.length;
    if (field.kind === "number") columns.push(field);
    else {
      const component = { kind: "component", bits: field.bits, first } as const;
      columns.push({ kind: "largest" }, component, component, component);
    }
  }
  return columns;
}
