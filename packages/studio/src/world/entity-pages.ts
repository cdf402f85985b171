import type { Row, Rows } from "../api/types.js";

/** Rows of a request while a list is filled, and of the first request, which should be quick. */
const PAGE_ROWS = 1_000;
const FIRST_ROWS = 100;

export type LoadRows = (after: number | undefined, limit: number) => Promise<Rows>;

/**
 * The rows of one search, in the order of their ids. They are loaded from the front up to the rows that are shown, because the server
 * finds a page by the last id of the page before.
 */
export class EntityPages {
  readonly #rows: Row[] = [];
  readonly #load: LoadRows;
  readonly #changed: () => void;
  #total: number;
  #wanted = 0;
  #next: number | undefined;
  #isLoading = false;
  #isComplete = false;
  #isClosed = false;

  /** `total` is the expected number of rows until the first page arrives. */
  constructor(load: LoadRows, total: number, changed: () => void) {
    this.#load = load;
    this.#total = total;
    this.#changed = changed;
  }

  get total(): number {
    return this.#total;
  }

  /** The row, or `undefined` while it is loaded. */
  at(index: number): Row | undefined {
    return this.#rows[index];
  }

  indexOf(id: number): number {
    let [low, high] = [0, this.#rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#rows[middle]!.id < id) low = middle + 1;
      else high = middle;
    }
    return this.#rows[low]?.id === id ? low : -1;
  }

  /** Loads all rows before `end`. */
  want(end: number): Promise<void> {
    this.#wanted = Math.max(this.#wanted, end);
    return this.#fill();
  }

  /** Reads the rows from `first` to `end` again. Returns false if entities came or went, so that the list must be made anew. */
  async refresh(first: number, end: number): Promise<boolean> {
    const known = this.#rows.slice(first, Math.min(end, first + PAGE_ROWS));
    if (known.length === 0) return true;
    const after = first === 0 ? undefined : this.#rows[first - 1]!.id;
    const { rows, total } = await this.#load(after, known.length);
    const isSame = total === this.#total && rows.every(({ id }, index) => id === known[index]?.id);
    if (isSame) for (const [index, row] of rows.entries()) this.#rows[first + index] = row;
    return isSame;
  }

  close(): void {
    this.#isClosed = true;
  }

  async #fill(): Promise<void> {
    if (this.#isLoading) return;
    this.#isLoading = true;
    try {
      while (!this.#isComplete && !this.#isClosed && this.#rows.length < this.#wanted) {
        const { rows, total, next } = await this.#load(
          this.#next,
          this.#rows.length === 0 ? FIRST_ROWS : PAGE_ROWS,
        );
        this.#rows.push(...rows);
        this.#next = next ?? undefined;
        this.#isComplete = next === null;
        this.#total = this.#isComplete ? this.#rows.length : Math.max(total, this.#rows.length);
        if (!this.#isClosed) this.#changed();
      }
    } finally {
      this.#isLoading = false;
    }
  }
}
