/** One ordering domain of a channel. Messages on different lanes do not wait for each other. */

import { clockUs, type Driver } from "../carrier/driver.js";
import { copyOf } from "../codec/copy-of.js";
import { NowcastError } from "../errors/nowcast-error.js";
import type { WaitOptions } from "../events/cancellable-waits.js";
import type { PutOutcome } from "../queue/updatable-queue.js";
import { checkCommand, checkDuration, checkKey, checkLane, checkValue } from "./arguments.js";
import type { Commands } from "./commands.js";
import type { Inbox } from "./inbox.js";
import type { CommandMessage, LaneMessage } from "./message.js";
import { asEvent } from "./schemas.js";

const DEADLINE_MS = 5_000;

export interface CommandOptions extends WaitOptions {
  /** Maximum wait for the reply; 5,000 by default. */
  readonly deadlineMs?: number | undefined;
}

function full(lane: number): NowcastError {
  return new NowcastError("misuse", `lane ${lane} is full`, { code: "lane_full", cure: "wait for replies" });
}

/**
 * A lane of a channel.
 *
 * ```ts
 * for await (const message of channel.lane(3)) show(message.value);
 * ```
 *
 * An iteration receives all messages of its lane; the channel's own receivers get them again when the iteration ends.
 * Messages that are not received yet stay in the session: newer values replace older ones of their key, and the peer's
 * `event` returns false while too many events wait. The iteration ends and throws as the channel's does.
 */
export class Lane implements AsyncIterable<LaneMessage> {
  readonly number: number;
  readonly #driver: Driver;
  readonly #commands: Commands;
  readonly #inbox: Inbox;

  /** @internal */
  constructor(number: number, driver: Driver, commands: Commands, inbox: Inbox) {
    this.number = checkLane(number);
    this.#driver = driver;
    this.#commands = commands;
    this.#inbox = inbox;
  }

  [Symbol.asyncIterator](): AsyncGenerator<LaneMessage, void> {
    return this.#inbox.messagesFrom(this.number);
  }

  /** Waits for the next message of this lane; `undefined` when the channel is closed and everything was received. */
  receive({ signal }: WaitOptions = {}): Promise<LaneMessage | undefined> {
    return this.#inbox.receiveFrom(this.number, signal);
  }

  /**
   * Puts the newest value of `key` (1 to 2^64 − 1), which replaces an unsent value of the key.
   * Returns false if the value was not accepted because the lane has the maximum number of keys, or
   * because the channel is closed.
   */
  state(key: number | bigint, value: Uint8Array): boolean {
    const [count, bytes] = [checkKey(key), checkValue(value, "state")];
    const { session } = this.#driver;
    if (session.isClosed) return false;
    return this.#took(session.putState(clockUs(), this.number, count, copyOf(bytes)));
  }

  /**
   * Puts an event. It is delivered once, in order, after the states that were put before it. Returns false if the event
   * was not accepted because the lane is full or the channel is closed.
   */
  event(value: Uint8Array): boolean {
    return this.announce(asEvent(checkValue(value, "event")));
  }

  /** @internal Puts an event without conversion. Returns false if it was not accepted. */
  announce(event: Uint8Array): boolean {
    const { session } = this.#driver;
    if (session.isClosed) return false;
    return this.#numbered(session.putEvent(clockUs(), this.number, copyOf(event))) !== false;
  }

  /** @internal The reason why no command is accepted now. */
  get refusal(): NowcastError {
    return this.#driver.session.isClosed ? this.#commands.closed : full(this.number);
  }

  /** Puts a command, and resolves to the reply. Rejected with a `NowcastError` if no reply arrives in time. */
  async command(
    value: Uint8Array,
    { deadlineMs = DEADLINE_MS, signal }: CommandOptions = {},
  ): Promise<Uint8Array> {
    signal?.throwIfAborted();
    const bytes = checkValue(value, "command");
    const deadlineUs = checkDuration(deadlineMs, "deadlineMs") * 1_000;
    const { session } = this.#driver;
    if (session.isClosed) throw this.#commands.closed;
    const id = this.#numbered(session.command(clockUs(), this.number, copyOf(bytes), deadlineUs));
    if (id === false) throw full(this.number);
    return this.#commands.reply(id, signal);
  }

  /**
   * Answers a command. Returns false if the reply was not accepted because the lane is full or the
   * channel is closed.
   */
  reply(command: Pick<CommandMessage, "type" | "lane" | "id">, value: Uint8Array): boolean {
    const [{ lane, id }, bytes] = [checkCommand(command), checkValue(value, "reply")];
    const { session } = this.#driver;
    if (session.isClosed) return false;
    return this.#numbered(session.reply(clockUs(), lane, id, copyOf(bytes))) !== false;
  }

  #numbered(outcome: number | PutOutcome): number | false {
    if (typeof outcome !== "number") {
      this.#took(outcome);
      return false;
    }
    this.#driver.wake();
    return outcome;
  }

  #took(outcome: PutOutcome): boolean {
    if (outcome === "too large") {
      throw new NowcastError("misuse", "the message is larger than the peer accepts (message_bytes_max)");
    }
    if (outcome === "full") return false;
    this.#driver.wake();
    return true;
  }
}
