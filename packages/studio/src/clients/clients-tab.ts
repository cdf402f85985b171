import type { Client } from "../api/types.js";
import type { Context, Tab } from "../context.js";
import { button, figures, make, setText, table } from "../dom.js";
import { Poll } from "../poll.js";
import { bytesText } from "../value.js";
import { carrierText, countText, lossText, msText, queueText } from "./client-figures.js";
import { ClientPanel } from "./client-panel.js";

const INTERVAL_MS = 1_000;
const HEADS = [
  "Client",
  "Carrier",
  "Round trip",
  "Loss",
  "Rate limit",
  "Waiting",
  "Replaced",
  "Age near",
  "View delay",
  "Roles",
];
/** The columns with numbers. */
const NUMBERS = [2, 3, 4, 5, 6, 7, 8];

/** The clients of a room, with the figures of their links. */
export class ClientsTab implements Tab {
  readonly panel = make("div", { class: "sheet clients-tab" });
  readonly #context: Context;
  readonly #summary = make("div", { role: "status" });
  readonly #body = make("div");
  readonly #details = make("div");
  readonly #poll: Poll;
  #panel: ClientPanel | undefined;
  #room: string | undefined;
  #shown = "";

  constructor(context: Context) {
    this.#context = context;
    this.#poll = new Poll(
      () => this.#update(),
      INTERVAL_MS,
      (error) => void context.attempt(() => Promise.reject(error)),
    );
    this.panel.append(
      make("section", {}, make("h2", {}, "Clients"), this.#summary, this.#body, this.#details),
    );
  }

  shown(): void {
    if (this.#context.room !== this.#room) {
      this.#room = this.#context.room;
      this.#open(undefined);
    }
    this.#poll.start();
    void this.#poll.now();
  }

  hidden(): void {
    this.#poll.stop();
  }

  async #update(): Promise<void> {
    const { api } = this.#context;
    const room = this.#room;
    const clients = room === undefined ? [] : await api.clients(room);
    if (room !== this.#room) return;
    this.#showSummary(clients);
    this.#showRows(clients);
    const open = clients.find(({ player }) => player === this.#panel?.player);
    if (open) await this.#panel!.update(open);
    else if (this.#panel) this.#open(undefined);
  }

  #showSummary(clients: readonly Client[]): void {
    if (clients.length === 0) {
      const cure = make("p", { class: "empty" }, "No client is connected. Open the room in another tab.");
      return this.#summary.replaceChildren(cure);
    }
    const plain = clients.filter(({ carrier }) => carrier === "plain").length;
    const known = (values: readonly (number | null)[]): number[] => values.filter((value) => value !== null);
    const trips = known(clients.map(({ rttMs }) => rttMs)).sort((a, b) => a - b);
    const losses = known(clients.map(({ lossPerMille }) => lossPerMille));
    const queued = known(clients.map(({ queuedBytes }) => queuedBytes));
    const rows: [string, string][] = [["connected", String(clients.length)]];
    if (plain > 0) rows.push(["plain protocol", String(plain)]);
    if (trips.length > 0) rows.push(["median round trip", msText(trips[Math.floor(trips.length / 2)])]);
    if (losses.length > 0) rows.push(["highest loss", `${(Math.max(...losses) / 10).toFixed(1)} %`]);
    if (queued.length > 0) rows.push(["waiting", bytesText(queued.reduce((sum, bytes) => sum + bytes, 0))]);
    this.#summary.replaceChildren(figures(rows));
  }

  /** Makes the rows when clients came or went; otherwise writes the new figures, so that a focused button remains. */
  #showRows(clients: readonly Client[]): void {
    const shown = JSON.stringify(clients.map(({ player, name }) => [player, name]));
    if (clients.length === 0) this.#body.replaceChildren();
    else if (shown !== this.#shown) {
      const rows = clients.map((client) => [this.#name(client), ...cellsOf(client)]);
      this.#body.replaceChildren(table("Clients", HEADS, rows, NUMBERS));
    } else {
      const rows = this.#body.querySelectorAll("tbody tr");
      for (const [index, client] of clients.entries()) {
        const cells = rows[index]!.children;
        for (const [column, text] of cellsOf(client).entries()) setText(cells[column + 1]!, text);
      }
    }
    this.#shown = shown;
  }

  #name(client: Client): HTMLElement {
    return button(`${client.name} (${client.player})`, () => this.#open(client), { class: "link" });
  }

  #open(client: Client | undefined): void {
    this.#panel =
      client &&
      new ClientPanel(this.#context, client, {
        closed: () => this.#open(undefined),
        disconnected: () => void this.#poll.now(),
      });
    this.#details.replaceChildren(...(this.#panel ? [this.#panel.element] : []));
    if (!this.#panel) return;
    this.#panel.element.scrollIntoView({ block: "nearest" });
    void this.#poll.now();
  }
}

function cellsOf(client: Client): string[] {
  return [
    carrierText(client),
    msText(client.rttMs),
    lossText(client),
    client.rateBytes === null ? "–" : `${bytesText(client.rateBytes)}/s`,
    queueText(client),
    countText(client.superseded),
    msText(client.agesMs?.near),
    msText(client.behindMs),
    client.role.join(", "),
  ];
}
