import type { Client, ClientDetails } from "../api/types.js";
import { histogram } from "../chart.js";
import type { Context } from "../context.js";
import { button, choice, field, figures, make, setText, table } from "../dom.js";
import { bytesText } from "../value.js";
import { ageBuckets, carrierText, figuresOf, msText } from "./client-figures.js";

const QUEUE_ROWS = 20;
const ENTITY_ROWS = 12;
const BANS: readonly (readonly [string, string])[] = [
  ["", "no ban"],
  ["60", "ban for 1 min"],
  ["3600", "ban for 1 h"],
  ["86400", "ban for 1 day"],
];

export interface ClientPanelListener {
  closed(): void;
  disconnected(): void;
}

/** One client's figures, value ages, queue, and bytes by entity. */
export class ClientPanel {
  readonly element = make("section", { class: "client-panel card", "aria-label": "Client" });
  readonly player: number;
  readonly #context: Context;
  readonly #about = make("p", { class: "muted" });
  readonly #figures = make("div");
  readonly #ages = make("div");
  readonly #queue = make("div");
  readonly #bytes = make("div", { class: "cards" });
  #hasDetails = true;

  constructor(context: Context, client: Client, listener: ClientPanelListener) {
    this.#context = context;
    this.player = client.player;
    const title = make("h2", {}, `${client.name} (${client.player})`);
    const head = make(
      "header",
      {},
      title,
      button("Close", () => listener.closed(), { class: "quiet" }),
    );
    this.element.append(head, this.#about, this.#figures, this.#ages, this.#queue, this.#bytes);
    if (context.session.role === "editor") this.element.append(this.#dismissal(client, listener));
    this.show(client);
  }

  /** Shows the newest figures, and requests the client's details. */
  async update(client: Client): Promise<void> {
    this.show(client);
    const { room, api } = this.#context;
    if (room === undefined || !this.#hasDetails) return;
    try {
      this.#showDetails(await api.client(room, this.player));
    } catch (error) {
      this.#hasDetails = false;
      throw error;
    }
  }

  show(client: Client): void {
    const roles = client.role.length === 0 ? "no roles" : client.role.join(", ");
    setText(this.#about, `${carrierText(client)}, ${roles}`);
    this.#figures.replaceChildren(figures(figuresOf(client)));
  }

  #showDetails({ agesMs, queue, queueTotal, kinds, entities, measuredS }: ClientDetails): void {
    this.#ages.replaceChildren(histogram("Age of the client's values at their arrival", ageBuckets(agesMs)));
    const waiting = queue
      .slice(0, QUEUE_ROWS)
      .map(({ lane, type, key, bytes, ageMs }) => [
        String(lane),
        type,
        key ?? "–",
        bytesText(bytes),
        msText(ageMs),
      ]);
    const count = queueTotal === 0 ? "The queue is empty." : `${queueTotal} messages wait for this client.`;
    this.#queue.replaceChildren(
      make("h3", {}, "Queue"),
      make("p", { class: "muted" }, count),
      waiting.length === 0 ? "" : table("Queue", ["Lane", "Type", "Key", "Bytes", "Age"], waiting, [3, 4]),
    );
    const about = `Bytes of movement, ${measuredS.toFixed(0)} s so far`;
    this.#bytes.replaceChildren(
      make(
        "div",
        {},
        make("h3", {}, `${about}, by kind`),
        table(
          "Bytes by kind",
          ["Kind", "Entities", "Bytes"],
          kinds.map(({ kind, entities: number, bytes }) => [kind, String(number), bytesText(bytes)]),
          [1, 2],
        ),
      ),
      make(
        "div",
        {},
        make("h3", {}, `${about}, by entity`),
        table(
          "Bytes by entity",
          ["Entity", "Bytes"],
          entities.slice(0, ENTITY_ROWS).map(({ id, kind, bytes }) => [`${kind} #${id}`, bytesText(bytes)]),
          [1],
        ),
      ),
    );
  }

  #dismissal({ name, player }: Client, listener: ClientPanelListener): HTMLElement {
    const reason = make("input", { value: "disconnected by an editor", maxlength: "120" });
    const ban = choice(BANS, () => undefined);
    const send = async (): Promise<void> => {
      const { room, api } = this.#context;
      if (room === undefined) return;
      const banS = ban.value === "" ? undefined : Number(ban.value);
      if (!(await this.#context.attempt(() => api.disconnect(room, player, reason.value, banS)))) return;
      this.#context.say(`${name} was disconnected`);
      listener.disconnected();
    };
    return make(
      "div",
      { class: "row dismissal" },
      field("Reason", reason),
      field("Ban", ban),
      button("Disconnect", send, { class: "danger", "aria-label": `Disconnect ${name}` }),
    );
  }
}
