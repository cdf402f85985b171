interface Reason {
  readonly cause: string;
  readonly cure: string;
}

/** The texts of this package. A page in another language replaces them before its first world. */
export const pageTexts = {
  // The names of controls, and the answer to `/help`.
  walk: "walk",
  moveHint: "move",
  run: "run",
  fasterHint: "faster",
  upHint: "up",
  jumpHint: "jump",
  lookHint: "drag to look",
  chatHint: "chat",
  moreHint: "more",
  emotesHint: "gestures",
  keys: { left: "Click", right: "Right click", enter: "Enter" },
  slot: (key: string, label: string, count: number) =>
    `Slot ${key}: ${label === "" ? "empty" : label}${count > 1 ? `, ${count}` : ""}`,
  prompt: (key: string, label: string) => `${key}: ${label}`,
  hold: (key: string) => `hold ${key}`,
  /** The keys of one action, in a hint and in a sentence. */
  orKey: (keys: readonly string[]) => keys.join(" / "),
  eitherKey: (keys: readonly string[]) => keys.join(" or "),
  helpKeys: (keys: string) => `Keys: ${keys}`,
  helpKeyboard:
    "Without a mouse: , and . turn, Page Up and Page Down look up and down, X and C are the buttons of the mouse.",
  helpTouch: (buttons: string) => `Buttons: ${buttons}. Hold a button that fills a bar for more of it.`,
  helpPage: "? shows the keys, H the network figures, ` the rules of this world, Esc cancels.",
  helpChat: "Lines are sent to everybody in the room. Only you see the answer to /help.",
  introTouch: "Left thumb: move, and faster at the rim. Right thumb: look around. Two fingers: zoom.",
  button: (label: string) => `“${label}”`,
  mouseButtons: { left: "the mouse button", right: "the right mouse button" },
  unknownPad: (name: string) =>
    `The buttons of this game pad are not known: ${name}. Use the keyboard, or another pad.`,
  touchControls: { walk: "the stick", run: "the stick at its rim", jump: "the button with the arrow" },
  padControls: { walk: "the left stick", run: "B", jump: "A" },
  padSticks: { left: "Left stick", right: "Right stick" },
  /** The buttons of a gamepad by their numbers in the standard mapping. */
  padButtons: ["A", "B", "X", "Y", "LB", "RB", "LT", "RT", "", "", "", "", "↑", "↓", "←", "→"],
  padLookHint: "look",
  emotes: "Gestures",
  noEmotes: "The avatar of this world has no gestures.",
  emoteNames: { wave: "wave", point: "point", cheer: "cheer", dance: "dance", nod: "nod", bow: "bow" },

  // Texts over the picture.
  help: "Keys",
  introAgain: "“?” shows this again.",
  introClose: "Begin",
  chat: "Chat",
  say: "Say something",
  pressToChat: "Press Enter to chat",
  jump: "Jump",
  charge: "Charge",
  stick: "Move: press the left half of the picture and move the finger",
  onlyYou: "only you",
  people: (count: number) => `${count} people`,
  watching: "watching",

  // People, and lines of the chat about them.
  guest: "guest",
  you: (name: string) => `${name} (you)`,
  find: "Find",
  mute: "Mute",
  block: "Block",
  isAway: (name: string, metres: number) => `${name} is ${metres} m away.`,
  isOutOfSight: (name: string) => `${name} is out of sight.`,
  linkCopied: "The link to this room is on the clipboard.",
  isHere: (name: string) => `${name} is here`,
  hasLeft: (name: string) => `${name} has left`,
  isNow: (before: string, now: string) => `${before} is now ${now}`,
  linesMissed: (lines: number) =>
    `${lines === 1 ? "One line was" : `${lines} lines were`} left out, because this connection is too slow`,
  unsaid: (text: string, reason: string) => `Not sent: “${text}” (${reason})`,
  refused: (action: string, reason: string) => `${action}: ${reason}`,

  // The world's screen.
  score: "Score",
  yes: "yes",
  no: "no",
  moreLines: (lines: number) => `and ${lines} more`,

  // The connection.
  reach: {
    connecting: "Connecting…",
    unstable: "Connection unstable: nothing has arrived for a second.",
    lost: "Connection lost: reconnecting…",
  },
  tryingAgain: (what: string) => `${what} Trying again…`,
  backAgain: "Back again",
  ends: {
    left: () => ({ cause: "You have left the room.", cure: "Join again whenever you like." }),
    goingAway: () => ({
      cause: "The server is shutting down.",
      cure: "It is often back in a moment: then join again.",
    }),
    unreachable: () => ({
      cause: "The server cannot be reached.",
      cure: "Check that it runs and that the network is up.",
    }),
    lost: () => ({
      cause: "The connection was lost.",
      cure: "Check that the network is up, then join again.",
    }),
    version: () => ({
      cause: "This page and the server are of different versions.",
      cure: "Reload the page to get the version that belongs to the server.",
    }),
    noPlace: ({ cause, cure }: Reason) => ({ cause: `There is no place for you now: ${cause}.`, cure }),
    notEncrypted: ({ cure }: Reason) => ({
      cause: "The server wants an encrypted connection from other machines, and this page came without one.",
      cure,
    }),
    refused: ({ cause, cure }: Reason) => ({
      cause: `The server does not let you in now: ${cause}.`,
      cure,
    }),
    unauthorised: ({ cause }: Reason) => ({
      cause: `This world requires a token: ${cause}.`,
      cure: "Ask the people who run it for a link with a new token: it ends in ?token=…",
    }),
    tooLarge: () => ({
      cause: "The server got a message that was too large.",
      cure: "Reload the page to get its newest version.",
    }),
    misunderstood: ({ cause }: Reason) => ({
      cause: `The server and this page did not understand each other (${cause}).`,
      cure: "Reload the page to get the version that belongs to the server.",
    }),
    tooMuch: ({ cause }: Reason) => ({
      cause: `This page sent too much (${cause}).`,
      cure: "Join again; if it happens again, close other tabs in this room.",
    }),
    tooSlow: () => ({
      cause: "This connection could not keep up with the world.",
      cure: "Join again with fewer snapshots a second (Settings, Network).",
    }),
    idle: () => ({
      cause: "The server received nothing from this page for a minute.",
      cure: "Join again. A laptop that sleeps or a frozen tab causes this.",
    }),
    replaced: ({ cause }: Reason) => ({
      cause: `This page ended: ${cause}.`,
      cure: "Join again to play here.",
    }),
    banned: ({ cause }: Reason) => ({
      cause: `The server keeps you out: ${cause}.`,
      cure: "Ask the operators of this world, or try another room.",
    }),
    kicked: ({ cause }: Reason) => ({
      cause: `You left this room: ${cause}.`,
      cure: "Join again, or enter another room.",
    }),
    closed: ({ cause }: Reason) => ({
      cause: `The connection ended (${cause}).`,
      cure: "Join again; if it keeps happening, reload the page.",
    }),
  },

  // Voices, and looking around by moving the device.
  voiceOn: "Hear people nearby",
  microphone: "Microphone",
  gyroscope: "Look around by moving the device",
  gyroscopeStates: {
    refused:
      "The page cannot read how this device is held: allow motion sensors for this page, and try again.",
    silent: "This device does not report how it is held.",
    insecure: "Looking around by moving the device needs an encrypted page (https).",
  },
  microphoneOn: "Turn the microphone on",
  microphoneOff: "Turn the microphone off",
  voiceStates: {
    notHere: "This world passes on no voices.",
    impossible: "This browser cannot play voices: it has no WebRTC.",
    refused: "This page may not use the microphone: allow it, and try again.",
    missing: "There is no microphone that this page can use. Pages that are not encrypted (https) have none.",
  },
  voiceFailed: (name: string) =>
    `You and ${name} cannot hear each other: a network between you blocks voices.`,
  voiceVolume: "Volume",
  voiceBlock: "block",
};
