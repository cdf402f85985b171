import type {
  Check,
  Client,
  ClientDetails,
  Command,
  CommandResult,
  Differences,
  Entity,
  History,
  Log,
  MetricsHistory,
  Moment,
  Profile,
  Replay,
  Room,
  Rooms,
  Rows,
  Session,
  SourceFile,
  SourceFolder,
  State,
  WorldFault,
} from "./types.js";

/** The part of `fetch` that the client uses. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** A refused request: the text is for people, `code` for programs. */
export class StudioError extends Error {
  override readonly name = "StudioError";
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly cure: string | undefined,
    /** The revision that a file has now, for `changed`. */
    readonly revision: string | undefined,
  ) {
    super(message);
  }
}

/** Parameters of a search for entities. Members that are `undefined` do not restrict the rows. */
export interface Query {
  readonly search?: string | undefined;
  readonly kind?: string | undefined;
  readonly tag?: string | undefined;
  readonly attribute?: string | undefined;
  readonly near?: string | undefined;
}

export interface Page {
  readonly after?: number | undefined;
  readonly limit?: number | undefined;
}

/** The place of entities: a room, or a paused moment. */
export type Place =
  | { readonly type: "room"; readonly room: string }
  | { readonly type: "moment"; readonly moment: string };

/** A client of `/studio/api`. */
export class StudioApi {
  /** Sent with each request; `undefined` on the server's own machine. */
  token: string | undefined;
  readonly #base: string;
  readonly #fetch: Fetch;

  constructor(base: string, fetch: Fetch) {
    this.#base = base;
    this.#fetch = fetch;
  }

  session(): Promise<Session> {
    return this.#get("session");
  }

  rooms(): Promise<Rooms> {
    return this.#get("rooms");
  }

  room(room: string): Promise<Room> {
    return this.#get(`rooms/${name(room)}`);
  }

  entities(place: Place, query: Query = {}, page: Page = {}): Promise<Rows> {
    return this.#get(`${pathOf(place)}/entities`, { ...query, ...page });
  }

  entity(place: Place, id: number): Promise<Entity> {
    return this.#get(`${pathOf(place)}/entities/${id}`);
  }

  state(place: Place): Promise<State> {
    return this.#get(`${pathOf(place)}/state`);
  }

  /** Sends commands that are recorded, so that a replay has them. */
  command(
    room: string,
    commands: readonly Command[],
  ): Promise<{ readonly tick: number; readonly results: readonly CommandResult[] }> {
    return this.#send("POST", `rooms/${name(room)}/commands`, { commands });
  }

  async clients(room: string): Promise<readonly Client[]> {
    return (await this.#get<{ clients: readonly Client[] }>(`rooms/${name(room)}/clients`)).clients;
  }

  client(room: string, player: number): Promise<ClientDetails> {
    return this.#get(`rooms/${name(room)}/clients/${player}`);
  }

  /** Disconnects a client, and bans it from the room for `banS` seconds if this is given. */
  disconnect(room: string, player: number, reason: string, banS?: number): Promise<unknown> {
    const body = banS === undefined ? { reason } : { reason, banS };
    return this.#send("DELETE", `rooms/${name(room)}/clients/${player}`, body);
  }

  log(room: string, after: number): Promise<Log> {
    return this.#get(`rooms/${name(room)}/log`, { after });
  }

  profile(room: string, steps: number): Promise<Profile> {
    return this.#get(`rooms/${name(room)}/profile`, { steps });
  }

  metrics(): Promise<MetricsHistory> {
    return this.#get("metrics/history");
  }

  files(world: string): Promise<SourceFolder> {
    return this.#get(`worlds/${name(world)}/files`);
  }

  file(world: string, path: string): Promise<SourceFile> {
    return this.#get(`worlds/${name(world)}/files/${pathName(path)}`);
  }

  /** Saves a file. With a `revision`, fails with the code `changed` if another person saved in the meantime. */
  save(
    world: string,
    path: string,
    text: string,
    revision: string | undefined,
  ): Promise<{ revision: string }> {
    const match: Record<string, string> = revision === undefined ? {} : { "If-Match": `"${revision}"` };
    return this.#send("PUT", `worlds/${name(world)}/files/${pathName(path)}`, { text }, match);
  }

  create(world: string, path: string, text: string): Promise<{ revision: string }> {
    return this.#send(
      "PUT",
      `worlds/${name(world)}/files/${pathName(path)}`,
      { text },
      { "If-None-Match": "*" },
    );
  }

  deleteFile(world: string, path: string, revision: string): Promise<unknown> {
    const match = { "If-Match": `"${revision}"` };
    return this.#send("DELETE", `worlds/${name(world)}/files/${pathName(path)}`, {}, match);
  }

  check(world: string, files: Readonly<Record<string, string>>): Promise<Check> {
    return this.#send("POST", `worlds/${name(world)}/check`, { files });
  }

  types(world: string): Promise<{ readonly files: Readonly<Record<string, string>> }> {
    return this.#get(`worlds/${name(world)}/types`);
  }

  fault(world: string): Promise<WorldFault> {
    return this.#get(`worlds/${name(world)}/faults`);
  }

  history(room: string): Promise<History> {
    return this.#get(`rooms/${name(room)}/history`);
  }

  openMoment(room: string, at: { readonly step: number } | { readonly secondsAgo: number }): Promise<Moment> {
    return this.#send("POST", `rooms/${name(room)}/moments`, at);
  }

  async moments(): Promise<readonly Moment[]> {
    return (await this.#get<{ moments: readonly Moment[] }>("moments")).moments;
  }

  closeMoment(id: string): Promise<unknown> {
    return this.#send("DELETE", `moments/${name(id)}`, {});
  }

  stepMoment(id: string, steps: number): Promise<Moment> {
    return this.#send("POST", `moments/${name(id)}/step`, { steps });
  }

  async compare(a: string, b: string): Promise<Differences> {
    return (await this.#get<{ differences: Differences }>("moments/compare", { a, b })).differences;
  }

  replay(id: string, rules: "current" | "recorded", until: number): Promise<Replay> {
    return this.#send("POST", `moments/${name(id)}/replay`, { rules, until });
  }

  saveTest(id: string, test: string): Promise<{ readonly test: string; readonly moment: string }> {
    return this.#send("POST", `moments/${name(id)}/test`, { name: test });
  }

  #get<Answer>(path: string, query: object = {}): Promise<Answer> {
    const parameters = new URLSearchParams();
    for (const [key, value] of Object.entries(query)) {
      if (value !== undefined) parameters.set(key, String(value));
    }
    const tail = parameters.size === 0 ? "" : `?${parameters}`;
    return this.#request("GET", `${path}${tail}`, undefined, {});
  }

  #send<Answer>(
    method: string,
    path: string,
    body: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    return this.#request(method, path, JSON.stringify(body), {
      "Content-Type": "application/json",
      ...headers,
    });
  }

  async #request<Answer>(
    method: string,
    path: string,
    body: string | undefined,
    headers: Readonly<Record<string, string>>,
  ): Promise<Answer> {
    const authorization: Record<string, string> =
      this.token === undefined ? {} : { Authorization: `Bearer ${this.token}` };
    const init: RequestInit = { method, headers: { ...headers, ...authorization }, cache: "no-store" };
    if (body !== undefined) init.body = body;
    const answer = await this.#fetch(`${this.#base}/${path}`, init);
    if (answer.ok) return (await answer.json()) as Answer;
    throw await refusal(answer);
  }
}

function name(text: string): string {
  return encodeURIComponent(text);
}

function pathName(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

function pathOf(place: Place): string {
  return place.type === "room" ? `rooms/${name(place.room)}` : `moments/${name(place.moment)}`;
}

async function refusal(answer: Response): Promise<StudioError> {
  const body: unknown = await answer.json().catch(() => undefined);
  const error = (body as { error?: Record<string, unknown> } | undefined)?.error ?? {};
  const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
  return new StudioError(
    answer.status,
    text(error["code"]) ?? "unknown",
    text(error["message"]) ?? `the server answered ${answer.status}`,
    text(error["cure"]),
    text(error["revision"]),
  );
}

/** The text of an error for people, with the remedy if there is one. */
export function errorText(error: unknown): string {
  if (error instanceof StudioError) return error.cure ? `${error.message}. ${error.cure}` : error.message;
  if (error instanceof TypeError) return "the server does not answer";
  return error instanceof Error ? error.message : String(error);
}
