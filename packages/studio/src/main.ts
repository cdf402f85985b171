import { errorText, StudioApi, StudioError } from "./api/studio-api.js";
import type { Session } from "./api/types.js";
import { button, field, make } from "./dom.js";
import { Shell, type TabEntry } from "./shell.js";
import { tabTexts } from "./storage.js";

const STORED_TOKEN = "nowcast-studio-token";

const TABS: readonly TabEntry[] = [
  tab("world", "World", async (context) => new (await import("./world/world-tab.js")).WorldTab(context)),
  tab("code", "Code", async (context) => new (await import("./code/code-tab.js")).CodeTab(context)),
  tab("time", "Time", async (context) => new (await import("./time/time-tab.js")).TimeTab(context)),
  tab("step", "Step", async (context) => new (await import("./step/step-tab.js")).StepTab(context)),
  tab(
    "clients",
    "Clients",
    async (context) => new (await import("./clients/clients-tab.js")).ClientsTab(context),
  ),
  tab("events", "Events", async (context) => new (await import("./events/events-tab.js")).EventsTab(context)),
  tab("net", "Net lab", async (context) => new (await import("./net/net-tab.js")).NetTab(context)),
];

function tab(name: string, label: string, make: TabEntry["make"]): TabEntry {
  return { name, label, make };
}

async function main(): Promise<void> {
  const api = new StudioApi("api", (url, init) => fetch(url, init));
  api.token = takeToken();
  const session = await open(api);
  const shell = new Shell(api, session, TABS);
  await shell.open(document.body);
}

/** Returns the token of the address (`#token=…`) and removes it from the address. Without one, returns the token of this tab's session. */
function takeToken(): string | undefined {
  const given = /^#token=([^&]+)$/.exec(window.location.hash)?.[1];
  if (given === undefined) return tabTexts.getItem(STORED_TOKEN) ?? undefined;
  window.history.replaceState(null, "", window.location.pathname + window.location.search);
  const token = decodeURIComponent(given);
  tabTexts.setItem(STORED_TOKEN, token);
  return token;
}

/** Asks for a token until the server accepts one. */
async function open(api: StudioApi): Promise<Session> {
  for (;;) {
    try {
      return await api.session();
    } catch (error) {
      const isRefused = error instanceof StudioError && (error.status === 401 || error.status === 403);
      api.token = await ask(errorText(error), isRefused, api.token);
    }
  }
}

function ask(reason: string, forToken: boolean, earlier: string | undefined): Promise<string | undefined> {
  return new Promise((resolve) => {
    const input = make("input", { type: "password", autocomplete: "off", spellcheck: "false" });
    const form: HTMLFormElement = make(
      "form",
      { class: "entrance" },
      make("h1", {}, "Nowcast Studio"),
      make("p", { role: "alert" }, reason),
      forToken ? field("Token", input, "nowcast token --role editor --key-file FILE") : undefined,
      button(forToken ? "Open" : "Try again", () => form.requestSubmit(), { class: "primary" }),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!forToken) return resolve(earlier);
      tabTexts.setItem(STORED_TOKEN, input.value);
      resolve(input.value);
    });
    document.body.replaceChildren(make("main", {}, form));
    if (forToken) input.focus();
  });
}

void main();
