/**
 * The code that runs a session. `connect` loads this module while it requests the endpoint's record
 * and opens a carrier, which takes several round trips.
 */
import { type CarrierKind, forAnyCarrier, type OpenCarrier, PROPERTIES } from "../carrier/carrier.js";
import { clockUs, Driver, randomEntropy } from "../carrier/driver.js";
import { Channel, closedError } from "../channel/channel.js";
import { NowcastError } from "../errors/nowcast-error.js";
import { CloseCode, type Closed } from "../session/fault.js";
import { Session, type SessionConfig } from "../session/index.js";
import { CarrierMigrator, type Offers } from "./carrier-migrator.js";

/** Time for which the first HELLO may stay unanswered while there is another carrier to try. */
const UNANSWERED_MS_MAX = 3_000;

export interface OpenSessionOptions {
  readonly config: Partial<SessionConfig> | undefined;
  readonly signal: AbortSignal;
  /** The carriers that can still be tried if this one stays silent. */
  readonly others: readonly CarrierKind[];
  /** Returns the carriers to which the session may move. Called when the session is open. */
  readonly offers: () => Offers;
}

/**
 * Opens a session on a carrier; `undefined` if the carrier stays silent and other carriers remain.
 */
export async function openSession(
  carrier: OpenCarrier,
  { config, signal, others, offers }: OpenSessionOptions,
): Promise<Channel | undefined> {
  const driver = new Driver(
    Session.connect(clockUs(), PROPERTIES[carrier.kind], randomEntropy(), forAnyCarrier(config)),
  );
  const closed = await begin(driver, carrier, others.length > 0, signal);
  if (closed === undefined) return openChannel(driver, offers());
  if (others.length > 0 && closed.by === "silence") return undefined;
  throw refusedError(closed) ?? closedError(closed);
}

/** The error for a session that was refused at once, with the endpoint's error code (`spec/CARRIERS.md`, section 2). */
function refusedError({ code, reason }: Closed): NowcastError | undefined {
  const [word, cure] =
    code === CloseCode.busy
      ? (["full", "try again later"] as const)
      : code === CloseCode.unauthorised
        ? (["unauthorised", "ask for a new token"] as const)
        : [];
  if (word === undefined) return undefined;
  const message = `the endpoint refuses: ${word}; ${reason || word}; ${cure}`;
  return new NowcastError("refused", reason || word, { code: word, cure, message, closeCode: code });
}

/** Waits until the session is open. If the session ends instead, throws the reason. */
function begin(
  driver: Driver,
  carrier: OpenCarrier,
  hasOthers: boolean,
  signal: AbortSignal,
): Promise<Closed | undefined> {
  return new Promise((resolve, reject) => {
    const unanswered = (): void => driver.close(CloseCode.gaveUp, "no answer to HELLO");
    const timer = hasOthers ? setTimeout(unanswered, UNANSWERED_MS_MAX) : undefined;
    const end = (closed: Closed | undefined): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      resolve(closed);
    };
    const stop = (): void => {
      driver.close(CloseCode.done, "given up");
      reject(signal.reason);
    };
    signal.addEventListener("abort", stop);
    const changed = (): void => {
      const notice = driver.session.pollNotice();
      if (notice?.type === "opened") end(undefined);
      if (notice?.type !== "closed") return;
      const { closed } = notice;
      end(closed.code === CloseCode.gaveUp ? { ...closed, by: "silence" } : closed);
    };
    driver.handle({ changed, carrierEnded: changed });
    driver.adopt(carrier);
  });
}

function openChannel(driver: Driver, offers: Offers): Channel {
  const channel = new Channel(driver);
  const migrator = new CarrierMigrator(driver, offers);
  channel.carrierEnded = () => migrator.look();
  channel.on("status", ({ phase }) => {
    if (phase === "closed") migrator.stop();
  });
  driver.handle(channel);
  // The bytes that arrived together with the answer.
  queueMicrotask(() => driver.pump());
  return channel;
}
