/** Receives the client's requests to the page's address and start screen. */
export interface ViewerListener {
  /** Leaves this room for the start page. */
  anotherRoom(): void;
  /** The world of the room is known: after entering, and after each reconnect. */
  welcomed(room: string, world: string): void;
  /** Enters the present of the room instead of its history. */
  present(): void;
  /** Another moment of the past is shown; `time` is in ISO 8601. */
  momentShown(time: string): void;
  /** Goes to another room of the server without a reload. */
  sentTo(room: string): void;
}

export const NO_LISTENER: ViewerListener = {
  anotherRoom: () => undefined,
  welcomed: () => undefined,
  present: () => undefined,
  momentShown: () => undefined,
  sentTo: () => undefined,
};
