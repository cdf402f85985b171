/** Judges who may enter an endpoint, before a byte of a session is read. */
import { isLoopbackHost } from "../connect/address.js";
import { NowcastError } from "../errors.js";
import { Refusal } from "./refusal.js";
import { type Claims, checkKey, readToken, type TokenKey, unauthorised } from "./token.js";

const ORIGIN_CHARACTERS_MAX = 100;

export interface Policy {
  /** With a key a token is needed; without one there are none. */
  readonly tokenKey?: TokenKey | undefined;
  /** Lets in who shows no token. Without it and without a key, an endpoint listens on loopback only. */
  readonly anonymous?: boolean | undefined;
  /** The origins whose pages may join (`https://example.org`). By default those of every origin; programs have none. */
  readonly origins?: readonly string[] | undefined;
  /** Allows sessions from other machines without TLS; for whoever has encryption in front of it. */
  readonly plainHttp?: boolean | undefined;
  /** Carriers open at once from one address; 64 by default. */
  readonly carriersPerAddressMax?: number | undefined;
  /** Carriers open at once; 2,048 by default. */
  readonly carriersMax?: number | undefined;
  /** Tokens for one entry that are remembered until they expire; 65,536 by default. */
  readonly usedTokensMax?: number | undefined;
}

/** Somebody knocks. */
export interface Knock {
  readonly name: string;
  readonly address: string;
  readonly origin: string | undefined;
  readonly token: string | undefined;
  readonly isResuming: boolean;
  readonly isEncrypted: boolean;
}

/** What the door lets through. */
export interface Pass {
  readonly knock: Knock;
  readonly claims: Claims | undefined;
}

export class Door {
  /** Refusals by their word. */
  readonly refused: Record<string, number> = {};
  readonly #policy: Policy;
  readonly #carriers = new Map<string, number>();
  /** Ids of tokens for one entry that were used, and when they expire. */
  readonly #used = new Map<string, number>();
  #total = 0;

  constructor(policy: Policy, host: string) {
    this.#policy = policy;
    if (policy.tokenKey !== undefined) checkKey(policy.tokenKey);
    if (
      !isLoopbackHost(host) &&
      host !== "::1" &&
      policy.tokenKey === undefined &&
      policy.anonymous !== true
    ) {
      const what = `${host} can be reached by other machines`;
      throw new NowcastError("misuse", `${what}: give a tokenKey, or allow anonymous entry explicitly`);
    }
  }

  /** Whether pages of this origin may ask and join. */
  allowsOrigin(origin: string | undefined): boolean {
    const { origins = [] } = this.#policy;
    if (origin === undefined || origins.length === 0) return true;
    return origins.some((allowed) => allowed.replace(/\/$/, "") === origin);
  }

  /** Judges a request to open a carrier; throws a {@link Refusal}. */
  check(knock: Knock): Pass {
    if (!this.allowsOrigin(knock.origin)) {
      const origin = (knock.origin ?? "").slice(0, ORIGIN_CHARACTERS_MAX);
      const cure = "open the endpoint's own page, or ask its operator to allow this origin";
      throw new Refusal("wrong_origin", `pages of "${origin}" may not join`, cure);
    }
    if (!knock.isEncrypted && this.#policy.plainHttp !== true && !isLoopbackAddress(knock.address)) {
      const cause = "sessions from other machines are encrypted here, and this connection is not";
      throw new Refusal("not_encrypted", cause, "use TLS, or ask the operator to allow plain HTTP");
    }
    return { knock, claims: this.#claims(knock) };
  }

  #claims({ name, token, isResuming }: Knock): Claims | undefined {
    const { tokenKey, anonymous } = this.#policy;
    if (tokenKey === undefined || isResuming) return undefined;
    if (token === undefined) {
      if (anonymous) return undefined;
      throw unauthorised("a token is needed here");
    }
    const claims = readToken(token, tokenKey, name, Date.now() / 1_000);
    if (claims.jti !== undefined && this.#used.has(claims.jti)) throw used();
    return claims;
  }

  /**
   * A session begins: now a token for one entry is used up. Not before, because a client that tries two carriers at once
   * shows it twice. Throws a {@link Refusal}.
   */
  begin({ knock, claims }: Pass): void {
    if (knock.isResuming && this.#policy.tokenKey !== undefined) {
      throw unauthorised("without a token a session can only be resumed here, not begun");
    }
    if (claims?.jti === undefined) return;
    if (this.#used.has(claims.jti)) throw used();
    const nowS = Date.now() / 1_000;
    const { usedTokensMax = 65_536 } = this.#policy;
    if (this.#used.size >= usedTokensMax) {
      for (const [id, exp] of this.#used) if (exp + 60 < nowS) this.#used.delete(id);
    }
    if (this.#used.size >= usedTokensMax) {
      throw new Refusal("full", "too many tokens for one entry are in use", "come again later");
    }
    this.#used.set(claims.jti, claims.exp);
  }

  /** Takes a place for a carrier; the returned function frees it. Throws a {@link Refusal}. */
  take(address: string): () => void {
    const { carriersPerAddressMax = 64, carriersMax = 2_048 } = this.#policy;
    const open = this.#carriers.get(address) ?? 0;
    if (open >= carriersPerAddressMax) {
      const cause = `${open} carriers are open from this address`;
      throw new Refusal("too_many", cause, "close other connections of this address");
    }
    if (this.#total >= carriersMax) {
      throw new Refusal("full", "the endpoint takes no more carriers", "come again later");
    }
    this.#carriers.set(address, open + 1);
    this.#total += 1;
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.#total -= 1;
      const left = (this.#carriers.get(address) ?? 1) - 1;
      if (left === 0) this.#carriers.delete(address);
      else this.#carriers.set(address, left);
    };
  }

  /** Counts a refusal, and hands it back. */
  count(refusal: Refusal): Refusal {
    this.refused[refusal.error] = (this.refused[refusal.error] ?? 0) + 1;
    return refusal;
  }
}

function used(): Refusal {
  return unauthorised("the token has been used: it is good for one entry");
}

export function isLoopbackAddress(address: string): boolean {
  return address === "::1" || /^(::ffff:)?127\./.test(address);
}
