import { NowcastError } from "../errors/nowcast-error.js";

/** One property of an entity, quantised to whole numbers (`spec/DELTA.md`, section 2). */
export type DeltaField =
  /** One column: any signed 32-bit number; differences wrap. */
  | { readonly kind: "number" }
  /** One column: an angle in 2^`bits` steps for a full turn; 1 to 16 bits. */
  | { readonly kind: "angle"; readonly bits: number }
  /** One column: 0 or 1. */
  | { readonly kind: "flag" }
  /**
   * Four columns: the index of the largest of x, y, z, w, then the other three in `bits` (2 to 15) bits each. With M =
   * 2^`bits` − 1, a stored s means (2s − M) / (M√2), and the largest is positive.
   */
  | { readonly kind: "orientation"; readonly bits: number };

export type ColumnKind = "number" | "angle" | "flag" | "largest" | "component";

/** The type of one number of a row. */
export interface Column {
  readonly kind: ColumnKind;
  readonly bits: number;
  /**
   * For a component, the column with the index of the largest component of its orientation. For
   * other columns, the column itself.
   */
  readonly first: number;
  /**
   * The group of the column. Neighbouring columns of the same kind share a group and its models.
   */
  readonly group: number;
}

const COLUMNS_MAX = 64;

/** The columns of a frame. Both ends agree on the layout beforehand. */
export class DeltaLayout {
  readonly fields: readonly DeltaField[];
  readonly columns: readonly Column[];
  /** Number of groups of columns. */
  readonly groups: number;

  constructor(fields: readonly DeltaField[]) {
    const columns: Column[] = [];
    for (const field of fields) addColumns(field, columns);
    if (columns.length === 0 || columns.length > COLUMNS_MAX)
      throw new NowcastError("misuse", `a layout of ${columns.length} columns, not 1 to ${COLUMNS_MAX}`);
    this.fields = fields.map((field) => ({ ...field }));
    this.columns = columns;
    this.groups = columns.at(-1)!.group + 1;
  }

  /** Numbers in a row. */
  get width(): number {
    return this.columns.length;
  }

  /** Whether two layouts have equal columns. */
  equals(other: DeltaLayout): boolean {
    return (
      this === other ||
      (this.width === other.width &&
        this.columns.every((column, at) => {
          const { kind, bits, first } = other.columns[at]!;
          return column.kind === kind && column.bits === bits && column.first === first;
        }))
    );
  }
}

function addColumns(field: DeltaField, columns: Column[]): void {
  const first = columns.length;
  const add = (kind: ColumnKind, bits: number): void => {
    const before = columns.at(-1);
    const isAlike =
      before?.kind === kind && before.bits === bits && (kind !== "component" || before.first === first);
    const group = before === undefined ? 0 : isAlike ? before.group : before.group + 1;
    const own = kind === "component" ? first : columns.length;
    columns.push({ kind, bits, first: own, group });
  };
  switch (field.kind) {
    case "number":
      return add("number", 32);
    case "flag":
      return add("flag", 1);
    case "angle":
      mustHaveWidth(field, 1, 16);
      return add("angle", field.bits);
    case "orientation":
      mustHaveWidth(field, 2, 15);
      add("largest", field.bits);
      for (let component = 0; component < 3; component++) add("component", field.bits);
  }
}

function mustHaveWidth(field: { kind: string; bits: number }, least: number, most: number): void {
  if (!Number.isInteger(field.bits) || field.bits < least || field.bits > most)
    throw new NowcastError("misuse", `an ${field.kind} of ${field.bits} bits, not ${least} to ${most}`);
}

/** Whether a value is in the range of a column. */
export function holds(column: Column, value: number): boolean {
  switch (column.kind) {
    case "number":
      return true;
    case "largest":
      return (value & ~3) === 0;
    default:
      return value >>> column.bits === 0;
  }
}

/** Returns `to` − `from`; for an angle, along the shorter way around the circle. */
export function difference(column: Column, to: number, from: number): number {
  if (column.kind !== "angle") return (to - from) | 0;
  const shift = 32 - column.bits;
  return ((to - from) << shift) >> shift;
}

/** The inverse of `difference`. */
export function sum(column: Column, from: number, step: number): number {
  if (column.kind !== "angle") return (from + step) | 0;
  return (from + step) & ((1 << column.bits) - 1);
}
