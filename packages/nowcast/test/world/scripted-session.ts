import type { Channel } from "../../src/index.js";
import { type Listener, type ListenOptions, listen } from "../../src/node/index.js";
import {
  type Controls,
  controlsCodec,
  type Definition,
  type FromWorld,
  fromWorldCodec,
  lineCodec,
  missedCodec,
  type Said,
  type Steps,
  saidCodec,
  stepsCodec,
  type ToWorld,
  toWorldCodec,
  viewCodec,
} from "../../src/world/session/generated/messages.js";
import { player } from "./server-words.js";

const [WORLD_LANE, CHAT_LANE, REPLICATION_LANE] = [0, 1, 2];
const PLAYERS_KEY = 2 ** 32;
const STEPS_KEY = 2;
const VIEW_KEY = 3;
const ROOM = "test";

/** A server of worlds on sessions that sends any message that a test passes, including invalid messages. */
export class ScriptedSession {
  readonly channels: Channel[] = [];
  readonly received: ToWorld[] = [];
  readonly controls: Controls[] = [];
  readonly steps: Steps[] = [];
  readonly views: number[] = [];
  readonly lines: string[] = [];
  readonly #listener: Listener;
  readonly #payloads: Uint8Array[] = [];

  private constructor(listener: Listener, greet: (server: ScriptedSession) => void) {
    this.#listener = listener;
    const service = listener.advertise(ROOM);
    void (async () => {
      for await (const channel of service) this.#serve(channel, greet);
    })();
  }

  /** `greet` is called with each client's `Join`. */
  static async start(
    greet: (server: ScriptedSession) => void,
    options: ListenOptions = {},
  ): Promise<ScriptedSession> {
    return new ScriptedSession(await listen({ port: 0, ...options }), greet);
  }

  get url(): string {
    return `nowcast://127.0.0.1:${this.#listener.port}/${ROOM}`;
  }

  /** Sends a message to the newest client, as the other functions do. */
  say(message: FromWorld): void {
    this.sayBytes(fromWorldCodec.encode(message));
  }

  sayBytes(event: Uint8Array): void {
    this.#channel.lane(WORLD_LANE).event(event);
  }

  put(key: number, state: Uint8Array): void {
    this.#channel.lane(WORLD_LANE).state(key, state);
  }

  chat(said: Said): void {
    this.#channel.lane(CHAT_LANE).event(saidCodec.encode(said));
  }

  missed(lines: number): void {
    this.#channel.lane(CHAT_LANE).state(1, missedCodec.encode({ lines }));
  }

  replicate(payload: Uint8Array): void {
    this.#payloads.push(payload);
    this.#channel.wake();
  }

  async stop(): Promise<void> {
    await this.#listener.close();
  }

  get #channel(): Channel {
    return this.channels.at(-1)!;
  }

  #serve(channel: Channel, greet: (server: ScriptedSession) => void): void {
    this.channels.push(channel);
    const payloads = this.#payloads;
    channel.replicate(REPLICATION_LANE, {
      get hasMore() {
        return payloads.length > 0;
      },
      fill: (_, bytesMax) => (payloads[0]!.length <= bytesMax ? payloads.shift() : undefined),
      settled: () => {},
    });
    channel.on("message", (message) => {
      const { lane, type, value } = message;
      if (type === "state") this.#take(Number(message.key), value);
      else if (lane === CHAT_LANE) this.lines.push(lineCodec.decode(value).text);
      else {
        const said = toWorldCodec.decode(value);
        this.received.push(said);
        if (typeof said === "object" && "Join" in said) greet(this);
      }
    });
  }

  #take(key: number, value: Uint8Array): void {
    if (key === VIEW_KEY) this.views.push(viewCodec.decode(value).delay_ms);
    else if (key === STEPS_KEY) this.steps.push(stepsCodec.decode(value));
    else this.controls.push(controlsCodec.decode(value));
  }
}

export const WELCOME = {
  protocol: 8,
  player: 5,
  room: ROOM,
  world: "sheep",
  step_hz: 60,
  network_hz: 10,
  tick: 100,
  resumed: false,
};

/** Sends the welcome, the definition and the player of an empty world, as a server does. */
export function greeting(definition: Definition): (server: ScriptedSession) => void {
  return (server) => {
    server.say({ Welcome: WELCOME });
    server.say({ Define: { definition } });
    server.put(PLAYERS_KEY + WELCOME.player, player({ name: "Ada", avatar: null }));
  };
}
