import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { Client, ClientDuplexStream, Metadata } from "@grpc/grpc-js";
import { methodDefinition } from "../definition.ts";
import { RpcError, status } from "../error.ts";
import {
  type AnswerFrame,
  type CallFrameSchema,
  CallsService,
  type CarryRequest,
  CarryRequestSchema,
  type CarryResponse,
} from "../gen/parley/rpc/v1/calls_pb.js";
import { Calls } from "./calls.ts";
import { Gathered } from "./gathered.ts";
import { WINDOW_BYTES } from "./window.ts";

/** What a call is made with. */
export type Call = {
  metadata: Metadata;
  /** Milliseconds since 1970. */
  deadline: number;
  signal: AbortSignal | undefined;
};

/** Calls that may take longer go by themselves. */
export const MAX_CALL_MS = 320_000;
/** Nothing is called on a stream for longer, also when nobody replaces it. */
const TAKES_CALLS_MS = 1_000;
/** A replica that has not answered by then is left to those calls that go by themselves. */
const ANSWERS_WITHIN_MS = 500;

type CallFrame = MessageInitShape<typeof CallFrameSchema> & { callId: number };

/** A response, the end, both, or why there will be neither. */
type Heard = { response?: Uint8Array | undefined; isLast: boolean } | RpcError;
type Hear = (heard: Heard) => void;
/** Told that its caller waits no longer. */
type GiveUp = (reason: RpcError) => void;
type Ongoing = {
  callId: number;
  /** Ends the call at this end, and, unless it has ended there, at the other. */
  end: () => void;
};

/** One stream to a replica, and the calls that are under way on it. */
export class SharedStream {
  readonly #stream: ClientDuplexStream<CarryRequest, CarryResponse>;
  readonly #frames: Gathered<CallFrame, CarryRequest>;
  readonly #peer: Promise<string | undefined>;
  /** Those that have not ended at the other end. */
  readonly #calls = new Calls<Hear>();
  #nextId = 0;
  #isRetired: boolean = false;
  #isLost: boolean = false;

  /** @param onEnd told how the stream itself has ended. */
  constructor(channel: Client, metadata: Metadata, onEnd: (code: status) => void) {
    const deadline = Date.now() + TAKES_CALLS_MS + MAX_CALL_MS;
    const { path, requestSerialize, responseDeserialize } = methodDefinition(CallsService.method.carry);
    this.#stream = channel.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata, { deadline });
    this.#frames = new Gathered(this.#stream, (frames) => create(CarryRequestSchema, { frames }));
    this.#stream.on("data", ({ frames }: CarryResponse) => this.#hear(frames));
    // The status says the same.
    this.#stream.on("error", () => undefined);
    this.#peer = new Promise((resolve) => {
      this.#stream.once("metadata", () => resolve(this.#stream.getPeer()));
      this.#stream.once("status", () => resolve(undefined));
      setTimeout(() => resolve(undefined), ANSWERS_WITHIN_MS).unref();
    });
    this.#stream.on("status", ({ code }) => {
      this.#lose();
      onEnd(code);
    });
    setTimeout(() => this.retire(), TAKES_CALLS_MS).unref();
  }

  /** Whether calls can be made on it. */
  get takesCalls(): boolean {
    return !this.#isRetired && !this.#frames.isBlocked;
  }

  /** Which replica it leads to, known once that has answered; undefined when it does not. */
  peer(): Promise<string | undefined> {
    return this.#peer;
  }

  /** Gives it up; for one on which no call was made. */
  cancel(): void {
    this.#isRetired = true;
    this.#stream.cancel();
  }

  /** Ends it once the calls on it have ended. */
  retire(): void {
    this.#isRetired = true;
    this.#endWhenDone();
  }

  /** Makes a unary call. Throws RpcError, UNAVAILABLE when the stream was lost with the call on it. */
  async unary(method: string, request: Uint8Array, call: Call): Promise<Uint8Array> {
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
    const hear = (heard: Heard) => {
      if (heard instanceof RpcError) reject(heard);
      else resolve(heard.response ?? new Uint8Array());
    };
    const ongoing = this.#begin(method, request, call, hear, reject);
    try {
      return await promise;
    } finally {
      ongoing.end();
    }
  }

  /** Makes a call that is answered by a stream; who stops reading early ends it. Throws as `unary` does. */
  async *serverStream(method: string, request: Uint8Array, call: Call): AsyncGenerator<Uint8Array> {
    const waiting: Heard[] = [];
    let news = Promise.withResolvers<void>();
    const hear = (heard: Heard) => {
      waiting.push(heard);
      news.resolve();
    };
    const giveUp = (reason: RpcError) => {
      waiting.length = 0;
      hear(reason);
    };
    const ongoing = this.#begin(method, request, call, hear, giveUp);
    let takenBytes = 0;
    try {
      for (;;) {
        await news.promise;
        news = Promise.withResolvers();
        for (let heard = waiting.shift(); heard !== undefined; heard = waiting.shift()) {
          if (heard instanceof RpcError) throw heard;
          if (heard.response !== undefined) yield heard.response;
          if (heard.isLast) return;
          takenBytes += heard.response?.length ?? 0;
        }
        if (takenBytes < WINDOW_BYTES / 2) continue;
        this.#say({ callId: ongoing.callId, step: { case: "takenBytes", value: takenBytes } });
        takenBytes = 0;
      }
    } finally {
      ongoing.end();
    }
  }

  #begin(method: string, request: Uint8Array, call: Call, hear: Hear, giveUp: GiveUp): Ongoing {
    const { metadata, deadline, signal } = call;
    const callId = this.#nextId++;
    const timeoutMs = Math.max(1, Math.ceil(deadline - Date.now()));
    // Until its caller has taken all of it, not only until it has come.
    const timer = setTimeout(() => {
      end();
      giveUp(new RpcError(status.DEADLINE_EXCEEDED, "deadline_exceeded", "no answer in time"));
    }, timeoutMs);
    const cancel = () => {
      end();
      giveUp(new RpcError(status.CANCELLED, "cancelled", "cancelled by its caller"));
    };
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", cancel);
      this.#leave(callId);
    };
    signal?.addEventListener("abort", cancel, { once: true });
    this.#calls.add(callId, hear);
    const value = { method, timeoutMs, metadata: metadata.getMap() as Record<string, string>, request };
    this.#say({ callId, step: { case: "begin", value } }, request.length);
    return { callId, end };
  }

  #hear(frames: readonly AnswerFrame[]): void {
    for (const { callId, response, end } of frames) {
      const hear = this.#calls.get(callId);
      if (end) this.#forget(callId);
      if (end === undefined || end.status === status.OK) hear?.({ response, isLast: end !== undefined });
      else hear?.(new RpcError(end.status, end.code, end.message));
    }
  }

  /** Tells the other end that nobody waits for a call, unless it has ended there. */
  #leave(callId: number): void {
    if (this.#calls.get(callId) === undefined) return;
    this.#say({ callId, step: { case: "cancel", value: {} } });
    this.#forget(callId);
  }

  #forget(callId: number): void {
    this.#calls.remove(callId);
    this.#endWhenDone();
  }

  /** The stream is gone, and its calls with it. */
  #lose(): void {
    this.#isRetired = true;
    this.#isLost = true;
    const lost = new RpcError(status.UNAVAILABLE, "unavailable", "the connection was lost");
    for (const callId of this.#calls.ids()) this.#calls.remove(callId)?.(lost);
  }

  #say(frame: CallFrame, bytes = 0): void {
    if (this.#calls.get(frame.callId) !== undefined) this.#frames.push(frame, bytes);
  }

  #endWhenDone(): void {
    if (!this.#isRetired || this.#isLost || this.#calls.size > 0 || this.#stream.writableEnded) return;
    this.#frames.flush();
    this.#stream.end();
  }
}
