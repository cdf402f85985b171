/** Decides on admission to an endpoint, before a byte of a session is read. */
import { isLoopbackHost } from "../connect/address.js";
import { NowcastError } from "../errors/nowcast-error.js";
import { isAscii, isKnownHost, isOwnPage, NamedOrigins, type Page, quoted } from "./page.js";
import { Refusal } from "./refusal.js";
import { type Claims, checkKey, readToken, type TokenKey, unauthorised } from "./token.js";

export interface Policy {
  /** The key that verifies tokens. With a key, clients need a token; without a key, there are no tokens. */
  readonly tokenKey?: TokenKey | undefined;
  /** Admits clients without a token. Without this option and without a key, an endpoint may listen only on loopback. */
  readonly anonymous?: boolean | undefined;
  /**
   * The origins whose pages may join, such as `https://example.org`; programs have no origin. By default, an endpoint
   * on loopback that requires no token admits only its own pages, and any other endpoint admits all pages.
   */
  readonly origins?: readonly string[] | undefined;
  /** Allows sessions from other machines without TLS, for endpoints behind a proxy that terminates TLS. */
  readonly plainHttp?: boolean | undefined;
  /** Maximum number of open carriers from one address; 64 by default. */
  readonly carriersPerAddressMax?: number | undefined;
  /** Maximum number of open carriers; 2,048 by default. */
  readonly carriersMax?: number | undefined;
  /** Maximum remembered single-use tokens, which are kept until they expire; 65,536 by default. */
  readonly usedTokensMax?: number | undefined;
}

/** A request for admission. */
export interface AdmissionRequest {
  readonly name: string;
  readonly address: string;
  /** The origin of the requesting page, if there is one, and the requested host. */
  readonly page: Page;
  /** The port on which the request arrived. */
  readonly port: number | undefined;
  /** Whether the request opens a carrier, or only reads the record. */
  readonly opensCarrier: boolean;
  readonly token: string | undefined;
  readonly isResuming: boolean;
  readonly isEncrypted: boolean;
}

/** The admitted client. */
export interface AdmissionGrant {
  readonly asked: AdmissionRequest;
  readonly claims: Claims | undefined;
}

export class Admission {
  /** Number of refusals by error code. */
  readonly refused: Record<string, number> = {};
  readonly #policy: Policy;
  readonly #named: NamedOrigins;
  /** Whether all programs of this machine, and no other programs, may join. If so, web pages are checked. */
  readonly #isOpenToItsMachine: boolean;
  readonly #carriers = new Map<string, number>();
  /** Ids of used single-use tokens, each with its expiry. */
  readonly #used = new Map<string, number>();
  #total = 0;

  constructor(policy: Policy, host: string) {
    this.#policy = policy;
    if (policy.tokenKey !== undefined) checkKey(policy.tokenKey);
    this.#named = new NamedOrigins(policy.origins ?? []);
    const isLoopback = isLoopbackHost(host) || isLoopbackAddress(host);
    const needsToken = policy.tokenKey !== undefined && policy.anonymous !== true;
    this.#isOpenToItsMachine = isLoopback && !needsToken;
    if (!isLoopback && policy.tokenKey === undefined && policy.anonymous !== true) {
      const what = `${host} can be reached by other machines`;
      throw new NowcastError("misuse", what, {
        cure: "give a tokenKey, or allow anonymous entry explicitly",
      });
    }
  }

  /** Returns why the requesting page may not join, if there is a page: `spec/CARRIERS.md`, section 7. */
  judgePage({ page: { host, origin }, port, opensCarrier }: AdmissionRequest): Refusal | undefined {
    // A carrier without an origin was not opened by a browser. In other requests, a browser leaves
    // out the origin if it takes the page for a page of this endpoint.
    const isOfPage = origin !== undefined || !opensCarrier;
    if (this.#isOpenToItsMachine && isOfPage && host !== undefined && !isKnownHost(host, this.#named)) {
      const cure = "call it localhost, or ask its operator to allow an origin with this host";
      return new Refusal("wrong_host", `this endpoint is not called "${quoted(host)}"`, cure);
    }
    if (origin === undefined || this.#allows(origin, host, port)) return undefined;
    const cure = "ask the operator of the endpoint to allow this origin";
    return new Refusal("wrong_origin", `pages of "${quoted(origin)}" may not join`, cure);
  }

  #allows(origin: string, host: string | undefined, port: number | undefined): boolean {
    if (!isAscii(origin)) return false;
    if (this.#named.has(origin)) return true;
    return this.#isOpenToItsMachine ? isOwnPage(origin, host, port) : this.#named.isEmpty;
  }

  /** Decides on a request to open a carrier. Throws a {@link Refusal} if it is not admitted. */
  check(asked: AdmissionRequest): AdmissionGrant {
    const refusal = this.judgePage(asked);
    if (refusal !== undefined) throw refusal;
    if (!asked.isEncrypted && this.#policy.plainHttp !== true && !isLoopbackAddress(asked.address)) {
      const cause =
        "sessions from other machines must be encrypted here, and this connection is not encrypted";
      throw new Refusal("not_encrypted", cause, "use TLS, or ask the operator to allow plain HTTP");
    }
    return { asked, claims: this.#claims(asked) };
  }

  #claims({ name, token, isResuming }: AdmissionRequest): Claims | undefined {
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
   * Uses up a single-use token when a session begins. The token is not used up earlier, because a client that opens two
   * carriers at once presents its token twice. Throws a {@link Refusal}.
   */
  begin({ asked, claims }: AdmissionGrant): void {
    if (asked.isResuming && this.#policy.tokenKey !== undefined) {
      throw unauthorised(
        "a new session needs a token here; without one, only an existing session can be resumed",
      );
    }
    if (claims?.jti === undefined) return;
    if (this.#used.has(claims.jti)) throw used();
    const nowS = Date.now() / 1_000;
    const { usedTokensMax = 65_536 } = this.#policy;
    if (this.#used.size >= usedTokensMax) {
      for (const [id, exp] of this.#used) if (exp + 60 < nowS) this.#used.delete(id);
    }
    if (this.#used.size >= usedTokensMax) {
      throw new Refusal("full", "too many single-use tokens are in use", "try again later");
    }
    this.#used.set(claims.jti, claims.exp);
  }

  /**
   * Reserves a slot for a carrier. The returned function frees the slot. If all slots are taken, calls `giveWay` to
   * free a slot of this address, or of any address. Throws a {@link Refusal}.
   */
  take(address: string, giveWay: (address: string | undefined) => boolean): () => void {
    const { carriersPerAddressMax = 64, carriersMax = 2_048 } = this.#policy;
    const open = () => this.#carriers.get(address) ?? 0;
    if (open() >= carriersPerAddressMax && !giveWay(address)) {
      const cause = `${open()} carriers are open from this address`;
      throw new Refusal("too_many", cause, "close other connections of this address");
    }
    if (this.#total >= carriersMax && !giveWay(undefined)) {
      throw new Refusal("full", "the endpoint accepts no more carriers", "try again later");
    }
    this.#carriers.set(address, open() + 1);
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

  /** Counts a refusal, and returns it. */
  count(refusal: Refusal): Refusal {
    this.refused[refusal.error] = (this.refused[refusal.error] ?? 0) + 1;
    return refusal;
  }
}

function used(): Refusal {
  return unauthorised("the token was already used: it admits one session");
}

export function isLoopbackAddress(address: string): boolean {
  return address === "::1" || /^(::ffff:)?127\./.test(address);
}
