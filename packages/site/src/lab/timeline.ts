/** Virtual time: calls at given microseconds, in the order of their times. */

interface Call {
  readonly atUs: number;
  readonly order: number;
  readonly run: () => void;
}

export class Timeline {
  nowUs = 0;
  /** A binary heap: no call is due before the first one. */
  readonly #calls: Call[] = [];
  #order = 0;

  at(atUs: number, run: () => void): void {
    const call = { atUs: Math.max(atUs, this.nowUs), order: this.#order++, run };
    let index = this.#calls.push(call) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(call, this.#calls[parent]!)) break;
      this.#calls[index] = this.#calls[parent]!;
      index = parent;
    }
    this.#calls[index] = call;
  }

  runUntil(untilUs: number): void {
    while (this.#calls.length > 0 && this.#calls[0]!.atUs <= untilUs) {
      const call = this.#take();
      this.nowUs = call.atUs;
      call.run();
    }
    this.nowUs = untilUs;
  }

  #take(): Call {
    const first = this.#calls[0]!;
    const last = this.#calls.pop()!;
    const { length } = this.#calls;
    if (length === 0) return first;
    let index = 0;
    for (let child = 1; child < length; child = index * 2 + 1) {
      if (child + 1 < length && isBefore(this.#calls[child + 1]!, this.#calls[child]!)) child += 1;
      if (!isBefore(this.#calls[child]!, last)) break;
      this.#calls[index] = this.#calls[child]!;
      index = child;
    }
    this.#calls[index] = last;
    return first;
  }
}

function isBefore(a: Call, b: Call): boolean {
  return a.atUs < b.atUs || (a.atUs === b.atUs && a.order < b.order);
}
