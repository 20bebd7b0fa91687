import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Metadata, type Server, type ServerDuplexStream } from "@grpc/grpc-js";
import { methodDefinition } from "../definition.ts";
import { RpcError, status } from "../error.ts";
import {
  type AnswerFrameSchema,
  type CallBegin,
  type CallFrame,
  CallsService,
  type CarryRequest,
  type CarryResponse,
  CarryResponseSchema,
} from "../gen/parley/rpc/v1/calls_pb.js";
import { Calls } from "./calls.ts";
import { Gathered } from "./gathered.ts";
import { WINDOW_BYTES } from "./window.ts";

/** Sends an encoded response; a promise when the next one is to wait for its reader. */
export type Send = (response: Uint8Array) => Promise<void> | undefined;

/** Answers a call. What it resolves with is the last response and goes with the end. Throws RpcError. */
export type CarriedMethod = (
  request: Uint8Array,
  metadata: Metadata,
  signal: AbortSignal,
  send: Send,
) => Promise<Uint8Array | undefined>;

/** A message over 16 MiB would end the stream, and every other call with it. */
const MAX_RESPONSE_BYTES = 15 * 1024 * 1024;
const LEFT = new RpcError(status.CANCELLED, "cancelled", "the caller went away");
const STRANGER = new RpcError(status.UNAUTHENTICATED, "unauthenticated", "this caller may not share a stream");

const servers = new WeakMap<Server, Map<string, CarriedMethod>>();

/**
 * The methods that can be called on shared streams of this server, by `package.Service/Method`; whatever is added is served.
 * @param admits whether who opens a stream may call anything on it; of others nothing is read.
 */
export function carriedMethods(server: Server, admits: (metadata: Metadata) => boolean): Map<string, CarriedMethod> {
  const known = servers.get(server);
  if (known !== undefined) return known;
  const methods = new Map<string, CarriedMethod>();
  servers.set(server, methods);
  const Carry = (stream: Stream) => {
    if (admits(stream.metadata)) new SharedCalls(stream, methods);
    else stream.emit("error", STRANGER.toStatus());
  };
  server.addService({ Carry: methodDefinition(CallsService.method.carry) }, { Carry });
  return methods;
}

type Stream = ServerDuplexStream<CarryRequest, CarryResponse>;
type AnswerFrame = MessageInitShape<typeof AnswerFrameSchema>;

/** What the caller has not taken yet of a call's responses, and who waits for it. */
class Window {
  #untakenBytes = 0;
  #room: PromiseWithResolvers<void> | undefined;

  sent(bytes: number): Promise<void> | undefined {
    this.#untakenBytes += bytes;
    if (this.#untakenBytes < WINDOW_BYTES) return undefined;
    this.#room ??= Promise.withResolvers();
    return this.#room.promise;
  }

  taken(bytes: number): void {
    this.#untakenBytes -= bytes;
    if (this.#untakenBytes < WINDOW_BYTES) this.open();
  }

  /** Lets go whoever waits. */
  open(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }
}

type Served = { controller: AbortController; window: Window; timer: NodeJS.Timeout };

/** The calls on one stream, at the end that answers them. */
class SharedCalls {
  readonly #stream: Stream;
  readonly #methods: ReadonlyMap<string, CarriedMethod>;
  readonly #frames: Gathered<AnswerFrame, CarryResponse>;
  readonly #calls = new Calls<Served>();
  #isLast: boolean = false;

  constructor(stream: Stream, methods: ReadonlyMap<string, CarriedMethod>) {
    this.#stream = stream;
    this.#methods = methods;
    this.#frames = new Gathered(stream, (frames) => create(CarryResponseSchema, { frames }));
    // By this the caller knows which replica it has reached.
    stream.sendMetadata(new Metadata());
    stream.on("data", ({ frames }: CarryRequest) => {
      for (const frame of frames) this.#take(frame);
      // Who does not read what is answered is not read either.
      if (!this.#frames.isBlocked || stream.isPaused()) return;
      stream.pause();
      stream.once("drain", () => stream.resume());
    });
    stream.on("end", () => {
      this.#isLast = true;
      this.#endWhenDone();
    });
    stream.on("cancelled", () => {
      for (const callId of this.#calls.ids()) this.#leave(callId);
    });
    // Whatever it is, the stream is then cancelled.
    stream.on("error", () => undefined);
  }

  #take({ callId, step }: CallFrame): void {
    if (step.case === "begin") void this.#answer(callId, step.value);
    else if (step.case === "takenBytes") this.#calls.get(callId)?.window.taken(step.value);
    else if (step.case === "cancel") this.#leave(callId);
  }

  async #answer(callId: number, { method, request, metadata, timeoutMs }: CallBegin): Promise<void> {
    const controller = new AbortController();
    const { signal } = controller;
    const window = new Window();
    const timer = setTimeout(() => this.#leave(callId), timeoutMs);
    this.#calls.add(callId, { controller, window, timer });
    const send = (response: Uint8Array) => {
      if (signal.aborted) return undefined;
      requireShort(response);
      this.#frames.push({ callId, response }, response.length);
      return window.sent(response.length);
    };
    const last = await ended(() => {
      const called = this.#methods.get(method);
      if (called === undefined) throw new RpcError(status.UNIMPLEMENTED, "unimplemented", "no such method");
      return called(request, withTexts(this.#stream.metadata, metadata), signal, send);
    });
    clearTimeout(timer);
    if (signal.aborted) return;
    this.#calls.remove(callId);
    this.#frames.push({ callId, ...last }, last.response?.length ?? 0);
    this.#endWhenDone();
  }

  /** Nobody waits for this call any more, whether or not its handler minds. */
  #leave(callId: number): void {
    const call = this.#calls.remove(callId);
    call?.controller.abort(LEFT);
    call?.window.open();
    clearTimeout(call?.timer);
    this.#endWhenDone();
  }

  #endWhenDone(): void {
    if (!this.#isLast || this.#calls.size > 0 || this.#stream.writableEnded) return;
    this.#frames.flush();
    this.#stream.end();
  }
}

type Ending = { response?: Uint8Array; end: { status: number; code?: string; message?: string } };

const SUCCESS = { status: status.OK };

/** The last frame of a call, whatever becomes of it: nobody awaits what is thrown. */
async function ended(answer: () => Promise<Uint8Array | undefined>): Promise<Ending> {
  try {
    const response = await answer();
    if (response) requireShort(response);
    return { ...(response && { response }), end: SUCCESS };
  } catch (error) {
    const { status: code, code: name, message } = error instanceof RpcError ? error : UNREADABLE;
    return { end: { status: code, code: name, message } };
  }
}

// Methods throw RpcError, so all that is left is metadata that no header can hold.
const UNREADABLE = new RpcError(status.INVALID_ARGUMENT, "invalid_argument", "the call's metadata cannot be read");

function requireShort(response: Uint8Array): void {
  if (response.length <= MAX_RESPONSE_BYTES) return;
  throw new RpcError(status.RESOURCE_EXHAUSTED, "resource_exhausted", "the response is too large");
}

function withTexts(metadata: Metadata, texts: Record<string, string>): Metadata {
  const entries = Object.entries(texts);
  if (entries.length === 0) return metadata;
  const all = metadata.clone();
  for (const [key, value] of entries) all.set(key, value);
  return all;
}
