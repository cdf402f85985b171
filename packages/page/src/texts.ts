/** The words of this package's own texts. A page in another language replaces them before its first world. */
export const pageTexts = {
  yes: "yes",
  no: "no",
  walk: "walk",
  run: "run",
  jump: "jump",
  look: "drag to look",
  chat: "chat",
  help: "Controls",
  leftButton: "Click",
  rightButton: "Right click",
  hold: (key: string): string => `hold ${key}`,
  people: (count: number): string => (count === 1 ? "only you" : `${count} people`),
  connecting: "Connecting …",
  reconnecting: "Connection lost, trying again …",
  closed: "The connection has ended.",
  refused: (label: string, reason: string): string => `${label}: ${reason}`,
};
