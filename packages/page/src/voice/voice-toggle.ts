/**
 * The switch for voices. Voices are off until the user turns them on; then the microphone is muted. The other
 * modules are loaded when voices are first turned on.
 */
import type { Definition } from "nowcast/world";
import type { PersonChoice } from "../hud/people-list.js";
import { pageTexts } from "../texts.js";
import type { Spot, Voice, VoiceHost } from "./voice.js";

/** The action and the event by which a world forwards signals between pages. */
const VOICE = "voice";

/** The parts of the page that voices need. */
export interface VoicePage {
  /** The definition of the current world. */
  readonly definition: Definition | undefined;
  readonly player: number | undefined;
  others(): Iterable<{ readonly id: number; readonly name: string; readonly spot: Spot | undefined }>;
  act(action: string, args: Readonly<Record<string, unknown>>): void;
  say(text: string): void;
  /** The user's choices about players, from the list of people. */
  choices(): Iterable<readonly [number, Readonly<PersonChoice>]>;
  /** Shows above a player whether the player speaks. */
  mark(player: number, speaks: boolean): void;
}

/**
 * Whether a world forwards signals between pages that are not connected yet. It does so by an action with
 * these arguments.
 */
export function passesVoices(definition: Definition | undefined): boolean {
  const action = definition?.actions.find(({ name }) => name === VOICE);
  return ["to", "data"].every((name) => action?.arguments.some((field) => field.name === name) ?? false);
}

/** The elements of {@link VoiceToggle}. */
export interface VoiceElements {
  /** A checkbox that turns voices on. */
  readonly toggle: HTMLInputElement;
  readonly microphone: HTMLButtonElement;
  /** Has a line with the volume of each player. */
  readonly list: HTMLUListElement;
}

/** The switch for voices, the microphone's button, and the list of voices. */
export class VoiceToggle {
  readonly #toggle: HTMLInputElement;
  readonly #microphone: HTMLButtonElement;
  readonly #list: HTMLUListElement;
  #voice: Voice | undefined;
  readonly #marked = new Set<number>();
  readonly #page: VoicePage;
  readonly #iceServers: readonly RTCIceServer[];

  constructor(
    { toggle, microphone, list }: VoiceElements,
    page: VoicePage,
    iceServers: readonly RTCIceServer[] = [],
  ) {
    this.#toggle = toggle;
    this.#microphone = microphone;
    this.#list = list;
    this.#page = page;
    this.#iceServers = iceServers;
    this.#toggle.addEventListener("change", () => void this.#turn(this.#toggle.checked));
    this.#microphone.addEventListener("click", () => void this.flipMicrophone());
  }

  /** Handles an event of the world; returns whether it was for voices. */
  handleEvent(event: string, payload: unknown): boolean {
    if (event !== VOICE) return false;
    this.#voice?.handleSignal(payload);
    return true;
  }

  /** Once a frame. */
  update(nowMs: number, ears: Spot, ahead: Spot): void {
    this.#voice?.update(nowMs, ears, ahead);
  }

  /** Applies the user's choice about a player from the list of people. */
  choose(player: number, { isMuted, isBlocked }: Readonly<PersonChoice>): void {
    this.#voice?.choose(player, { volume: isMuted ? 0 : 1, isBlocked });
  }

  /** Turns the microphone on, or off. */
  async flipMicrophone(): Promise<void> {
    const voice = this.#voice;
    if (!voice) return;
    const state = await voice.setMuted(!voice.isMuted);
    if (state !== "on") this.#page.say(pageTexts.voiceStates[state]);
    this.#show();
  }

  /** Ends voices, for example because the user leaves the world. */
  end(): void {
    this.#voice?.close();
    this.#voice = undefined;
    this.#toggle.checked = false;
    this.#microphone.hidden = true;
    this.#show();
  }

  async #turn(isWanted: boolean): Promise<void> {
    if (!isWanted) return this.end();
    const page = this.#page;
    if (!passesVoices(page.definition)) return this.#refuse(pageTexts.voiceStates.notHere);
    const { Voice } = await import("./voice.js");
    if (!Voice.isPossible) return this.#refuse(pageTexts.voiceStates.impossible);
    // The user may have turned voices off again while the code was loaded.
    if (this.#voice || !this.#toggle.checked) return;
    this.#voice = new Voice(this.#createHost(), this.#iceServers);
    for (const [player, choice] of page.choices()) this.choose(player, choice);
    this.#microphone.hidden = false;
    this.#show();
  }

  #refuse(why: string): void {
    this.#toggle.checked = false;
    this.#page.say(why);
  }

  #createHost(): VoiceHost {
    const page = this.#page;
    const nameOf = (player: number): string =>
      [...page.others()].find(({ id }) => id === player)?.name ?? pageTexts.guest;
    return {
      get player() {
        return page.player;
      },
      others: () => page.others(),
      send: (to, data) => page.act(VOICE, { to, data }),
      failed: (player) => page.say(pageTexts.voiceFailed(nameOf(player))),
      changed: () => this.#show(),
    };
  }

  #show(): void {
    const voice = this.#voice;
    const page = this.#page;
    const isOn = voice !== undefined && !voice.isMuted;
    this.#microphone.setAttribute("aria-pressed", String(isOn));
    this.#microphone.title = isOn ? pageTexts.microphoneOff : pageTexts.microphoneOn;
    const others = voice ? [...page.others()] : [];
    const known = new Set(others.map(({ id }) => id));
    for (const player of this.#marked) {
      if (!known.has(player)) this.#marked.delete(player);
    }
    for (const { id } of others) {
      const speaks = voice?.isSpeaking(id) ?? false;
      if (speaks === this.#marked.has(id)) continue;
      page.mark(id, speaks);
      if (speaks) this.#marked.add(id);
      else this.#marked.delete(id);
    }
    if (!voice) for (const player of this.#marked) page.mark(player, false);
    this.#listPeople(voice, others);
  }

  /** A line for each player. Existing lines stay, because the user may be moving their sliders. */
  #listPeople(
    voice: Voice | undefined,
    others: readonly { readonly id: number; readonly name: string }[],
  ): void {
    const lines = new Map(
      [...this.#list.children].map((line) => [(line as HTMLElement).dataset["player"], line]),
    );
    const wanted = others.map(({ id, name }) => {
      const line = lines.get(String(id)) ?? this.#createLine(id);
      line.querySelector("span")!.textContent = name;
      line.classList.toggle("speaking", voice?.isSpeaking(id) ?? false);
      line.classList.toggle("connected", voice?.isConnected(id) ?? false);
      return line;
    });
    this.#list.replaceChildren(...wanted);
  }

  #createLine(player: number): HTMLLIElement {
    const line = document.createElement("li");
    line.dataset["player"] = String(player);
    const volume = document.createElement("input");
    Object.assign(volume, {
      type: "range",
      min: "0",
      max: "2",
      step: "0.1",
      value: "1",
      title: pageTexts.voiceVolume,
    });
    volume.setAttribute("aria-label", pageTexts.voiceVolume);
    const label = document.createElement("label");
    const block = document.createElement("input");
    block.type = "checkbox";
    label.append(block, ` ${pageTexts.voiceBlock}`);
    for (const input of [volume, block]) {
      input.addEventListener("change", () =>
        this.#voice?.choose(player, { volume: Number(volume.value), isBlocked: block.checked }),
      );
    }
    line.append(document.createElement("span"), volume, label);
    return line;
  }
}
