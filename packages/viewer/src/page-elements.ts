/** The elements of `index.html` for the parts of `@nowcast/page`. */
import type {
  ChatElements,
  HighlightElements,
  IntroElements,
  PeopleElements,
  ScreenElements,
  VoiceElements,
} from "@nowcast/page/internal";
import { element } from "./dom.js";

export function chatElements(): ChatElements {
  return {
    panel: element("chat", HTMLElement),
    log: element("chat-log", HTMLOListElement),
    form: element("chat-form", HTMLFormElement),
    input: element("chat-input", HTMLInputElement),
  };
}

export function highlightElements(): HighlightElements {
  return { banner: element("world-banner", HTMLElement), flash: element("flash", HTMLElement) };
}

export function emoteElements(): [HTMLElement, readonly HTMLElement[]] {
  return [element("emotes", HTMLElement), emoteToggles()];
}

function emoteToggles(): readonly HTMLElement[] {
  return [element("emote-toggle", HTMLButtonElement), element("touch-emote", HTMLButtonElement)];
}

export function introElements(): IntroElements {
  return {
    card: element("intro", HTMLElement),
    world: element("intro-world", HTMLElement),
    goal: element("intro-goal", HTMLElement),
    how: element("intro-how", HTMLUListElement),
    touch: element("intro-touch", HTMLElement),
    close: element("intro-close", HTMLButtonElement),
    help: element("help-toggle", HTMLButtonElement),
  };
}

export function keyBarElements(): { readonly bar: HTMLElement; readonly toggle: HTMLButtonElement } {
  return { bar: element("hints", HTMLElement), toggle: element("help-toggle", HTMLButtonElement) };
}

export function peopleElements(): PeopleElements {
  return {
    panel: element("people", HTMLElement),
    list: element("people-list", HTMLUListElement),
    toggle: element("place", HTMLButtonElement),
    link: element("people-link", HTMLButtonElement),
  };
}

export function screenElements(): ScreenElements {
  return {
    board: element("board", HTMLElement),
    score: element("score", HTMLElement),
    clock: element("clock", HTMLElement),
    message: element("message", HTMLElement),
    prompt: element("world-prompt", HTMLElement),
    list: element("screen-list", HTMLElement),
    slots: element("slots", HTMLElement),
  };
}

export function voiceElements(): VoiceElements {
  return {
    toggle: element("set-voice", HTMLInputElement),
    microphone: element("microphone", HTMLButtonElement),
    list: element("voice-people", HTMLUListElement),
  };
}

export function stickElements(): [HTMLElement, HTMLElement] {
  return [element("stick", HTMLElement), element("knob", HTMLElement)];
}
