/** The part of a WebSocket that the SDK uses, for all implementations. */

/** The part of the WHATWG WebSocket that the SDK needs. The implementations of browsers, Node and `ws` all fit. */
export interface WebSocketLike {
  binaryType: string;
  readonly bufferedAmount: number;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: "open", listener: () => void): void;
  addEventListener(type: "message", listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(
    type: "close",
    listener: (event: { readonly code: number; readonly reason: string }) => void,
  ): void;
  addEventListener(type: "error", listener: () => void): void;
}

export type WebSocketConstructor = new (url: string, protocol?: string) => WebSocketLike;
