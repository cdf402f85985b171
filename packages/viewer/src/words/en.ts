/** All texts of the page in English. Another language is another file like this one, listed in `words.ts`. */

interface Reason {
  readonly cause: string;
  readonly cure: string;
}

export const ENGLISH = {
  // The start screen.
  description: "A shared world in the browser: walk in, and be there with others.",
  brand: "shared worlds",
  tagline: "One world, everybody in it, as it is now.",
  yourName: "Your name",
  guest: "guest",
  room: "Room",
  roomRule: "1 to 32 of a–z, 0–9, - and _",
  worlds: "Worlds: choose one to enter",
  enter: "Enter",
  shareBefore: "Nobody else here yet? Open",
  shareBetween: "in a second tab, or",
  shareCopy: "copy the link",
  shareAfter: "for a friend.",
  copied: "copied",
  copyByHand: "copy it by hand",
  peopleHere: (people: number) => (people === 1 ? "1 person here" : `${people} people here`),
  roomsOpen: (rooms: number) => (rooms === 1 ? "1 room" : `${rooms} rooms`),

  // The local avatar and its gestures.
  outfit: "Avatar",
  outfitOpen: "Avatar…",
  outfitParts: {
    shirt: "Shirt",
    trousers: "Trousers",
    skin: "Skin",
    hair: "Hair",
    hat: "Hat",
    build: "Build",
  },
  outfitAny: "any",
  outfitNames: { none: "none", cap: "cap", beanie: "beanie", crown: "crown", slim: "slim", broad: "broad" },
  outfitColor: (part: string, number: number) => `${part}, colour ${number}`,
  outfitNote: "Worlds may give shirts the colour of a team.",
  emotes: "Gestures",
  emotesHint: "gestures",
  emoteNames: { wave: "wave", point: "point", cheer: "cheer", dance: "dance", nod: "nod", bow: "bow" },
  noEmotes: "The avatar of this world has no gestures.",

  // The card with the goal of a world.
  introAgain: "“?” shows this again.",
  introClose: "Begin",
  introTouch: "Left thumb: walk, and run at the rim. Right thumb: look around. Two fingers: zoom.",
  button: (label: string) => `“${label}”`,
  mouseButtons: { left: "the mouse button", right: "the right mouse button" },
  touchControls: { run: "the stick at its rim", jump: "the button with the arrow" },

  // The picture and the elements over it.
  canvas: "The shared world. Walk with W, A, S, D or the arrow keys.",
  canvasTouch:
    "The shared world. Press the left half and move the finger to walk; drag over the right half to look.",
  peopleOpen: "People in this room",
  peopleTitle: "People in this room",
  you: (name: string) => `${name} (you)`,
  find: "Find",
  mute: "Mute",
  block: "Block",
  isAway: (name: string, metres: number) => `${name} is ${metres} m away.`,
  isOutOfSight: (name: string) => `${name} is out of sight.`,
  copyLink: "Copy the link to this room",
  linkCopied: "The link to this room is on the clipboard.",
  figures: "Network figures",
  figuresKey: "Network figures (H)",
  graph: "Spacing of the latest snapshots and bytes a second",
  spacing: "spacing",
  delay: "delay",
  bytes: "bytes",
  settings: "Settings",
  console: "Rules of this world",
  consoleKey: "Rules of this world (`)",
  rulesFault: "The rules of this world have a fault: “Rules of this world” (`) shows it.",
  joinAgain: "Join again",
  anotherRoom: "Another room",
  help: "Keys",
  helpKey: "Keys of this world (?)",
  pictureLost: "The picture is gone.",
  pictureLostCure:
    "The graphics driver has taken it away, and the page waits to get it back. If nothing happens, reload the page.",
  reloadPage: "Reload the page",
  chat: "Chat",
  say: "Say something",
  pressToChat: "Press Enter to chat",
  jump: "Jump",
  stick: "Walk: press the left half of the picture and move the finger",
  charge: "How much of it",
  onlyYou: "only you",
  people: (count: number) => `${count} people`,
  watching: "watching",
  reach: {
    connecting: "Connecting…",
    unstable: "Connection unstable: nothing has arrived for a second.",
    lost: "Connection lost: reconnecting…",
  },
  tryingAgain: (what: string) => `${what} Trying again…`,
  backAgain: "Back again",
  isHere: (name: string) => `${name} is here`,
  hasLeft: (name: string) => `${name} has left`,
  isNow: (before: string, now: string) => `${before} is now ${now}`,
  linesMissed: (lines: number) =>
    `${lines === 1 ? "One line was" : `${lines} lines were`} left out, because this connection is too slow`,
  unsaid: (text: string, reason: string) => `Not sent: “${text}” (${reason})`,
  refused: (action: string, reason: string) => `${action}: ${reason}`,
  score: "Score",
  yes: "yes",
  no: "no",
  moreLines: (lines: number) => `and ${lines} more`,

  // The room to which an address leads.
  badRoomName: (asked: string) =>
    `“${asked}” is not the name of a room: names are 1 to 32 of a–z, 0–9, - and _. Choose another one.`,
  lowerCaseRoom: (asked: string, room: string) =>
    `Names of rooms are in lower case: “${asked}” leads to “${room}”.`,
  roomOfWorld: (room: string, world: string) => `Room “${room}” of the world “${world}”.`,
  noSuchWorld: (room: string, world: string) =>
    `Room “${room}” shows the first world, “${world}”, because no world is called “${room}”.`,

  // The answer to /help.
  helpKeys: (keys: string) => `Keys: ${keys}`,
  helpKeyboard:
    "Without a mouse: , and . turn, Page Up and Page Down look up and down, X and C are the buttons of the mouse.",
  helpTouch: (buttons: string) => `Buttons: ${buttons}. Hold a button that fills a bar for more of it.`,
  helpPage: "? shows the keys, H the network figures, ` the rules of this world, Esc cancels.",
  helpChat: "Lines are sent to everybody in the room. Only you see the answer to /help.",

  // The past of a room.
  past: "As it was",
  pastOf: (room: string) => `${room}, as it was`,
  pastInexact: "almost",
  pastMoment: "The moment that is shown",
  pastPlay: "Play",
  pastPause: "Pause",
  pastCopy: "Copy this moment into a new room",
  pastCopyName: "The name of the new room",
  pastPresent: "Back to now",

  // Labels of controls.
  walk: "walk",
  run: "run",
  jumpHint: "jump",
  chatHint: "chat",
  lookHint: "drag to look",
  keys: { left: "Click", right: "Right click", shift: "Shift", space: "Space", enter: "Enter" },
  prompt: (key: string, label: string) => `${key}: ${label}`,
  hold: (key: string) => `hold ${key}`,

  // The keys in the settings.
  keyboard: "Keys",
  keysReset: "Restore all keys",
  pressKey: "Press a key",
  walkForward: "walk forward",
  walkBack: "walk back",
  walkLeft: "walk left",
  walkRight: "walk right",
  turnLeft: "turn left",
  turnRight: "turn right",
  lookUp: "look up",
  lookDown: "look down",

  // The console.
  runs: (version: number) => `Version ${version} runs`,
  outcome: {
    runs: "runs",
    refused: "refused",
    rolled_back: "taken back",
    failed: "failed",
    printed: "printed",
  },
  version: (version: number) => `version ${version}`,
  earlierRuns: "An earlier version runs.",
  nothingReported: "Nothing was reported yet.",

  // Settings.
  network: "Network",
  name: "Name",
  travelsBy: "Travels by",
  bySession: "session, best carrier",
  byCustom16: "plain: custom16, 22 bytes",
  byCustom: "plain: custom, 31 bytes",
  byMsgpack: "plain: MessagePack",
  byJson: "plain: JSON",
  snapshots: "Snapshots a second",
  asServer: "as the server likes",
  picture: "Picture",
  quality: "Quality",
  automatic: "automatic",
  low: "low",
  medium: "medium",
  high: "high",
  light: "Light",
  asSystem: "as the system",
  day: "day",
  dusk: "dusk",
  shadows: "Shadows",
  sound: "Sound",
  volume: "Volume",
  soundOn: "Play the sounds of the world",
  looking: "Looking",
  speed: "Speed",
  invert: "Invert up and down",
  gyroscope: "Look around by moving the device",
  gyroscopeStates: {
    refused:
      "The page cannot read how this device is held: allow motion sensors for this page, and try again.",
    silent: "This device does not report how it is held.",
    insecure: "Looking around by moving the device needs an encrypted page (https).",
  },
  headset: "Headset",
  enterVr: "Enter VR",
  vrStates: {
    ready: "Put on the headset and press “Enter VR”.",
    insecure: "A headset needs an encrypted page (https), or a server on the same machine.",
    unknown: "This browser knows no headsets: it has no WebXR.",
    missing: "No headset is connected to this browser.",
  },
  vrFailed: (why: string) => `The headset cannot be used: ${why}`,
  vrWalk: "Walk by the left stick",
  vrSmoothTurn: "Turn smoothly instead of in steps",
  vrVignette: "See less while being moved",
  voice: "Voice",
  voiceOn: "Hear people nearby",
  voiceMicrophone: "Microphone",
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
  leaveRoom: "Leave the room",
  done: "Done",
  machine: (quality: string, renderer: string) => `Picture: ${quality} on ${renderer}`,

  // Network metrics: a label, and its meaning.
  rows: {
    ping: ["Ping", "Round trip to the server and back"],
    delay: ["Delay", "Interpolation delay: how far in the past the world is shown so that it moves smoothly"],
    jitter: ["Jitter", "How unevenly snapshots arrive"],
    loss: ["Loss", "Of the packets that this page sent, those that were lost"],
    age: ["Age", "How old the server's news is when it arrives"],
    packets: ["Packets", "Messages received in a second"],
    bytes: ["Bytes", "Payload received in a second"],
    entities: ["Entities", "Things in this world"],
    fps: ["Frames", "Frames drawn in a second"],
    superseded: ["Superseded", "Values that were never sent, because newer ones replaced them"],
    resent: ["Resent", "Values and events that were sent again after a loss"],
    reconnects: ["Rejoined", "Times that a lost connection was replaced"],
    carrier: ["Carrier", "Carrier of the messages"],
  },

  noWebGl: "This browser offers no WebGL 2. Turn on hardware acceleration, or use a newer browser.",

  // Why a connection ended, and the user's options. `cause` and `cure` are the server's own text.
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
};
