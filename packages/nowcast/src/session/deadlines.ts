/** Commands that wait for replies, and the times at which they and mortal events are given up. */
interface Deadline {
  readonly atUs: number;
  readonly lane: number;
  readonly id: number;
  readonly isCommand: boolean;
}

export class Deadlines {
  #waiting: Deadline[] = [];
  /** By lane and number: the id that the application knows. */
  readonly #commands = new Map<string, number>();

  get nextUs(): number | undefined {
    return this.#waiting.length === 0 ? undefined : Math.min(...this.#waiting.map(({ atUs }) => atUs));
  }

  add(deadline: Deadline): void {
    this.#waiting.push(deadline);
  }

  /** A command got its number. */
  numbered(lane: number, number: number, id: number): void {
    this.#commands.set(`${lane} ${number}`, id);
  }

  /** The command that a reply answers, if it still waits. */
  answered(lane: number, number: number | undefined): number | undefined {
    const name = `${lane} ${number}`;
    const id = this.#commands.get(name);
    this.#commands.delete(name);
    this.#waiting = this.#waiting.filter((deadline) => deadline.id !== id);
    return id;
  }

  /** Takes out what is over. */
  takeDue(nowUs: number): readonly Deadline[] {
    const due = this.#waiting.filter(({ atUs }) => atUs <= nowUs);
    if (due.length === 0) return due;
    this.#waiting = this.#waiting.filter(({ atUs }) => atUs > nowUs);
    for (const [name, command] of this.#commands) {
      if (due.some(({ id, isCommand }) => isCommand && id === command)) this.#commands.delete(name);
    }
    return due;
  }
}
