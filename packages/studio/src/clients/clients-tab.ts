import type { Client } from "../api/types.js";
import type { Context, Tab } from "../context.js";
import { button, make, setText, table } from "../dom.js";
import { Poll } from "../poll.js";
import { bytesText } from "../value.js";

const HEADS = [
  "Client",
  "Carrier",
  "Round trip",
  "Loss",
  "Sent",
  "Queue",
  "Replaced",
  "View delay",
  "Roles",
  "",
];

/** The clients of a room, with the figures of their links. */
export class ClientsTab implements Tab {
  readonly panel = make("div", { class: "sheet" });
  readonly #context: Context;
  readonly #count = make("p", { class: "muted", role: "status" });
  readonly #body = make("div");
  readonly #poll: Poll;

  constructor(context: Context) {
    this.#context = context;
    this.#poll = new Poll(
      () => this.#update(),
      1_000,
      (error) => void context.attempt(() => Promise.reject(error)),
    );
    this.panel.append(make("section", {}, make("h2", {}, "Clients"), this.#count, this.#body));
  }

  shown(): void {
    this.#poll.start();
    void this.#poll.now();
  }

  hidden(): void {
    this.#poll.stop();
  }

  async #update(): Promise<void> {
    const { room, api } = this.#context;
    const clients = room === undefined ? [] : await api.clients(room);
    setText(this.#count, clients.length === 0 ? "no clients are connected" : `${clients.length} connected`);
    // The button that has the focus would be lost otherwise.
    if (this.#body.contains(document.activeElement)) {
      this.#refresh(clients);
      return;
    }
    this.#show(clients);
  }

  #show(clients: readonly Client[]): void {
    this.#body.replaceChildren(
      table(
        "Clients",
        HEADS,
        clients.map((client) => [...cellsOf(client), this.#disconnect(client)]),
      ),
    );
  }

  /** Writes new figures into the rows. Rows come and go when the focus leaves the table. */
  #refresh(clients: readonly Client[]): void {
    for (const row of this.#body.querySelectorAll("tbody tr")) {
      const client = clients.find((candidate) => nameOf(candidate) === row.firstElementChild?.textContent);
      if (!client) continue;
      for (const [index, text] of cellsOf(client).entries()) setText(row.children[index]!, text);
    }
  }

  #disconnect({ player, name }: Client): Node {
    const { room, session, api } = this.#context;
    if (session.role !== "editor" || room === undefined) return document.createTextNode("");
    return button(
      "Disconnect",
      async () => {
        const isDone = await this.#context.attempt(() =>
          api.disconnect(room, player, "disconnected by an editor"),
        );
        if (isDone) this.#context.say(`${name} was disconnected`);
        await this.#poll.now();
      },
      { class: "danger", "aria-label": `Disconnect ${name}` },
    );
  }
}

function nameOf({ name, player }: Client): string {
  return `${name} (${player})`;
}

function cellsOf(client: Client): string[] {
  const number = (value: number | null, unit: string): string =>
    value === null ? "–" : `${+value.toFixed(1)} ${unit}`;
  const { carrier, rttMs, lossPerMille, rateBytes, queued, queuedBytes, superseded, behindMs, role } = client;
  return [
    nameOf(client),
    `${carrier}, ${client.networkHz} Hz`,
    number(rttMs, "ms"),
    lossPerMille === null ? "–" : `${(lossPerMille / 10).toFixed(1)} %`,
    rateBytes === null ? "–" : `${bytesText(rateBytes)}/s`,
    queued === null ? "–" : `${queued} (${bytesText(queuedBytes ?? 0)})`,
    superseded === null ? "–" : String(superseded),
    number(behindMs, "ms"),
    role.join(", "),
  ];
}
