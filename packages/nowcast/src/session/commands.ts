/** Commands that wait for replies, and their deadlines (`spec/SESSION.md`, section 8). */
interface Deadline {
  readonly atUs: number;
  readonly lane: number;
  readonly id: number;
}

/** Maximum number of commands that wait for replies. */
const COMMANDS_OPEN_MAX = 4_096;

export class Commands {
  /** The waiting commands, by the application's id. */
  readonly #waiting = new Map<number, Deadline>();
  /**
   * The earliest deadline in `#waiting`; `undefined` if nothing waits, or until it is computed
   * again.
   */
  #nextUs: number | undefined;
  /** The application's id, by lane and number. */
  readonly #commands = new Map<string, number>();

  get nextUs(): number | undefined {
    if (this.#nextUs === undefined && this.#waiting.size > 0) {
      this.#nextUs = Number.POSITIVE_INFINITY;
      for (const { atUs } of this.#waiting.values()) this.#nextUs = Math.min(this.#nextUs, atUs);
    }
    return this.#nextUs;
  }

  get isFull(): boolean {
    return this.#waiting.size >= COMMANDS_OPEN_MAX;
  }

  add(deadline: Deadline): void {
    this.#waiting.set(deadline.id, deadline);
    if (this.#nextUs !== undefined || this.#waiting.size === 1) {
      this.#nextUs = Math.min(this.#nextUs ?? deadline.atUs, deadline.atUs);
    }
  }

  /** Records that a command got its number. */
  numbered(lane: number, number: number, id: number): void {
    this.#commands.set(`${lane} ${number}`, id);
  }

  /** The command that a reply answers, if it still waits. */
  answered(lane: number, number: number | undefined): number | undefined {
    const name = `${lane} ${number}`;
    const id = this.#commands.get(name);
    this.#commands.delete(name);
    if (id !== undefined) this.#remove(id);
    return id;
  }

  /** Removes and returns the expired commands. */
  takeDue(nowUs: number): readonly Deadline[] {
    if (this.nextUs === undefined || this.nextUs > nowUs) return [];
    const due = [...this.#waiting.values()].filter(({ atUs }) => atUs <= nowUs);
    for (const { id } of due) this.#remove(id);
    for (const [name, command] of this.#commands) {
      if (due.some(({ id }) => id === command)) this.#commands.delete(name);
    }
    return due;
  }

  #remove(id: number): void {
    if (this.#waiting.get(id)?.atUs === this.#nextUs) this.#nextUs = undefined;
    this.#waiting.delete(id);
  }
}
