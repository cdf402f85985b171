/** The reason of a refusal, for people and programs (`spec/CARRIERS.md`, section 2). */

export type RefusalWord =
  | "unauthorised"
  | "wrong_origin"
  | "wrong_host"
  | "not_encrypted"
  | "no_such_name"
  | "too_many"
  | "full"
  | "bad_request";

const STATUS: Record<RefusalWord, number> = {
  unauthorised: 401,
  wrong_origin: 403,
  wrong_host: 403,
  not_encrypted: 403,
  no_such_name: 404,
  too_many: 429,
  full: 503,
  bad_request: 400,
};

export class Refusal {
  readonly status: number;

  constructor(
    readonly error: RefusalWord,
    readonly cause: string,
    readonly cure: string,
    status = STATUS[error],
  ) {
    this.status = status;
  }

  toJson(): string {
    const { error, cause, cure } = this;
    return JSON.stringify({ error, cause, cure });
  }
}
