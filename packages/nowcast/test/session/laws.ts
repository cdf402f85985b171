/** Records the messages of one direction of one lane, and checks them against the laws of `spec/QUEUE.md`. */
export class LawRecord {
  /** The key of every put; 0 for an event. */
  readonly #puts: number[] = [];
  readonly #lastGot = new Map<number, number>();
  #eventsGot = 0;
  readonly #events: number[] = [];

  /** The payload of the next put. */
  payload(bytes: number): Uint8Array {
    const payload = new Uint8Array(Math.max(4, bytes)).fill(this.#puts.length % 251);
    new DataView(payload.buffer).setUint32(0, this.#puts.length);
    return payload;
  }

  put(key: number): void {
    if (key === 0) this.#events.push(this.#puts.length);
    this.#puts.push(key);
  }

  got(key: number, payload: Uint8Array): void {
    const put = new DataView(payload.buffer, payload.byteOffset).getUint32(0);
    const isWhole = payload.subarray(4).every((byte) => byte === put % 251);
    if (this.#puts[put] !== key || !isWhole) throw new Error(`torn: put ${put} came back as key ${key}`);
    if (key === 0) this.#gotEvent(put);
    else this.#gotState(key, put);
  }

  #gotEvent(put: number): void {
    if (this.#events[this.#eventsGot] !== put)
      throw new Error(`law 1: event ${put} twice, lost or out of order`);
    this.#eventsGot += 1;
    for (const [key, last] of this.#lastBefore(put)) {
      if (this.#lastGot.get(key) !== last)
        throw new Error(`law 2: event ${put} came before value ${last} of ${key}`);
    }
  }

  #gotState(key: number, put: number): void {
    if (put <= (this.#lastGot.get(key) ?? -1)) throw new Error(`law 4: key ${key} went back to ${put}`);
    const waiting = this.#events[this.#eventsGot];
    if (waiting !== undefined && waiting < put)
      throw new Error(`law 3: value ${put} came before event ${waiting}`);
    this.#lastGot.set(key, put);
  }

  /** Whether everything that must arrive has arrived. */
  get isWhole(): boolean {
    if (this.#eventsGot !== this.#events.length) return false;
    for (const [key, last] of this.#lastBefore(this.#puts.length)) {
      if (this.#lastGot.get(key) !== last) return false;
    }
    return true;
  }

  /** Checks the laws at the end, when no messages are in transit. */
  finish(): void {
    if (this.#eventsGot !== this.#events.length) throw new Error("law 1: an event was lost");
    for (const [key, last] of this.#lastBefore(this.#puts.length)) {
      if (this.#lastGot.get(key) !== last) throw new Error(`law 4: the last value of ${key} was lost`);
    }
  }

  #lastBefore(end: number): Map<number, number> {
    const last = new Map<number, number>();
    for (let put = 0; put < end; put++) if (this.#puts[put] !== 0) last.set(this.#puts[put]!, put);
    return last;
  }
}
