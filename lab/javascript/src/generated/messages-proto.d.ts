/** The part of the code of pbjs for a message type that the bench uses. */
interface MessageClass {
  encode(message: object): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
}

export const Small: MessageClass;
export const Medium: MessageClass;
export const Big: MessageClass;
export const Batch: MessageClass;
export const Move: MessageClass;
export const Moves: MessageClass;
