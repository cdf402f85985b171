/** The elements of `index.html` for the parts of `@nowcast/page`. */
import type { HudElements } from "@nowcast/page/internal";
import { element } from "./dom.js";

export function hudElements(): HudElements {
  const help = element("help-toggle", HTMLButtonElement);
  return {
    root: document.body,
    stick: element("stick", HTMLElement),
    knob: element("knob", HTMLElement),
    voice: {
      toggle: element("set-voice", HTMLInputElement),
      microphone: element("microphone", HTMLButtonElement),
      list: element("voice-people", HTMLUListElement),
    },
    gyroscope: element("set-gyroscope", HTMLInputElement),
    screens: {
      board: element("board", HTMLElement),
      score: element("score", HTMLElement),
      clock: element("clock", HTMLElement),
      message: element("message", HTMLElement),
      prompt: element("world-prompt", HTMLElement),
      notice: element("world-notice", HTMLElement),
      list: element("screen-list", HTMLElement),
      slots: element("slots", HTMLElement),
    },
    chat: {
      panel: element("chat", HTMLElement),
      log: element("chat-log", HTMLOListElement),
      form: element("chat-form", HTMLFormElement),
      input: element("chat-input", HTMLInputElement),
    },
    people: {
      panel: element("people", HTMLElement),
      list: element("people-list", HTMLUListElement),
      toggle: element("place", HTMLButtonElement),
      link: element("people-link", HTMLButtonElement),
      invite: element("invite", HTMLButtonElement),
    },
    count: element("place-people", HTMLElement),
    highlights: { banner: element("world-banner", HTMLElement), flash: element("flash", HTMLElement) },
    keys: { bar: element("hints", HTMLElement), toggle: help },
    intro: {
      card: element("intro", HTMLElement),
      world: element("intro-world", HTMLElement),
      goal: element("intro-goal", HTMLElement),
      how: element("intro-how", HTMLUListElement),
      touch: element("intro-touch", HTMLElement),
      close: element("intro-close", HTMLButtonElement),
      help,
    },
    emotes: element("emotes", HTMLElement),
    emoteToggles: ["emote-toggle", "touch-emote"].map((id) => element(id, HTMLButtonElement)),
    connection: element("banner", HTMLElement),
    otherRoom: element("banner-other", HTMLButtonElement),
    notice: element("notice", HTMLElement),
    refusal: element("refusal", HTMLElement),
    offers: element("prompt", HTMLElement),
    charge: element("charge", HTMLElement),
    touch: {
      actions: element("touch-actions", HTMLElement),
      jump: element("touch-jump", HTMLElement),
      chat: element("touch-chat", HTMLElement),
    },
  };
}
