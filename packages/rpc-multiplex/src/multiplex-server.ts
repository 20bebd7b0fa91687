import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Metadata, type Server, type ServerDuplexStream } from "@grpc/grpc-js";
import { CALL_CANCELLED, type CallContext, RpcError, type ServedMethod, status, toMethodDefinition } from "@parley/rpc";
import {
  type AnswerFrameSchema,
  type CallBegin,
  type CallFrame,
  CallsService,
  type MultiplexRequest,
  type MultiplexResponse,
  MultiplexResponseSchema,
} from "@parley/rpc/calls";
import { SendWindow } from "./flow-control.ts";
import { FrameBatcher } from "./frame-batcher.ts";

/** Below the 16 MiB that a client accepts (packages/rpc/src/channel.ts). A message above 16 MiB would end the stream and all its calls. */
const MAX_RESPONSE_BYTES = 15 * 1024 * 1024;

/**
 * Serves `methods` to multiplexed calls.
 * @param isAuthorized checks a stream's metadata. A refused stream is closed before any of its calls is read.
 */
export function serveMultiplexed(
  server: Server,
  methods: readonly ServedMethod[],
  isAuthorized: (metadata: Metadata) => boolean,
): void {
  const methodsByName = new Map(methods.map((method) => [method.name, method]));
  const refused = new RpcError(status.UNAUTHENTICATED, "unauthenticated", "the stream is not authorized");
  const Multiplex = (stream: MultiplexStream) => {
    if (isAuthorized(stream.metadata)) new MultiplexedStreamHandler(stream, methodsByName);
    else stream.emit("error", refused.toStatus());
  };
  server.addService({ Multiplex: toMethodDefinition(CallsService.method.multiplex) }, { Multiplex });
}

type MultiplexStream = ServerDuplexStream<MultiplexRequest, MultiplexResponse>;
type AnswerFrame = MessageInitShape<typeof AnswerFrameSchema>;
type PendingCall = { controller: AbortController; window: SendWindow; timer: NodeJS.Timeout };
type CallResult = { response?: Uint8Array; end: { status: status; code?: string; message?: string } };

/** Serves the calls of one stream. */
class MultiplexedStreamHandler {
  readonly #stream: MultiplexStream;
  readonly #methods: ReadonlyMap<string, ServedMethod>;
  readonly #batcher: FrameBatcher<AnswerFrame, MultiplexResponse>;
  readonly #pendingCalls = new Map<number, PendingCall>();
  #isHalfClosed: boolean = false;

  constructor(stream: MultiplexStream, methods: ReadonlyMap<string, ServedMethod>) {
    this.#stream = stream;
    this.#methods = methods;
    this.#batcher = new FrameBatcher(stream, (frames) => create(MultiplexResponseSchema, { frames }));
    // Sends the headers immediately, because the client reads this replica's address (getPeer) when the headers arrive.
    stream.sendMetadata(new Metadata());
    stream.on("data", ({ frames }: MultiplexRequest) => {
      for (const frame of frames) this.#receive(frame);
      // Backpressure: stops reading requests until the client has drained the responses.
      if (!this.#batcher.isBlocked || stream.isPaused()) return;
      stream.pause();
      stream.once("drain", () => stream.resume());
    });
    stream.on("end", () => {
      this.#isHalfClosed = true;
      this.#closeWhenIdle();
    });
    stream.on("cancelled", () => {
      for (const callId of this.#pendingCalls.keys()) this.#abort(callId);
    });
    // Ignored, because "cancelled" follows every error and aborts the calls.
    stream.on("error", () => undefined);
  }

  #receive({ callId, step }: CallFrame): void {
    if (step.case === "begin") void this.#answer(callId, step.value);
    else if (step.case === "takenBytes") this.#pendingCalls.get(callId)?.window.addRead(step.value);
    else if (step.case === "cancel") this.#abort(callId);
  }

  async #answer(callId: number, begin: CallBegin): Promise<void> {
    const controller = new AbortController();
    const { signal } = controller;
    const window = new SendWindow();
    const timer = setTimeout(() => this.#abort(callId), begin.timeoutMs);
    this.#pendingCalls.set(callId, { controller, window, timer });
    const send = (response: Uint8Array) => {
      if (signal.aborted) return undefined;
      this.#batcher.add({ callId, response }, response.length);
      return window.addSent(response.length);
    };
    const result = await this.#serve(begin, signal, send);
    clearTimeout(timer);
    if (signal.aborted) return;
    this.#pendingCalls.delete(callId);
    this.#batcher.add({ callId, ...result }, result.response?.length ?? 0);
    this.#closeWhenIdle();
  }

  async #serve(
    begin: CallBegin,
    signal: AbortSignal,
    send: (response: Uint8Array) => Promise<void> | undefined,
  ): Promise<CallResult> {
    try {
      const method = this.#methods.get(begin.method);
      if (method === undefined)
        throw new RpcError(status.UNIMPLEMENTED, "unimplemented", "the server has no such method");
      const { responseSerialize } = method.definition;
      const context = this.#createContext(method, begin, signal);
      const response = await method.serve(context, (message) => send(requireAllowedSize(responseSerialize(message))));
      return {
        ...(response && { response: requireAllowedSize(responseSerialize(response)) }),
        end: { status: status.OK },
      };
    } catch (error) {
      const { status: grpcStatus, code, message } = error instanceof RpcError ? error : INTERNAL_ERROR;
      return { end: { status: grpcStatus, code, message } };
    }
  }

  #createContext(
    { name, definition }: ServedMethod,
    { request, metadata }: CallBegin,
    signal: AbortSignal,
  ): CallContext {
    try {
      return {
        method: name,
        signal,
        metadata: mergeMetadata(this.#stream.metadata, Object.entries(metadata)),
        request: definition.requestDeserialize(request as Buffer),
      };
    } catch (cause) {
      throw new RpcError(status.INVALID_ARGUMENT, "invalid_argument", "the call cannot be decoded", { cause });
    }
  }

  /** Aborts a call's handler. Removes the call immediately, even if the handler is still running. */
  #abort(callId: number): void {
    const call = this.#pendingCalls.get(callId);
    if (call === undefined) return;
    this.#pendingCalls.delete(callId);
    call.controller.abort(CALL_CANCELLED);
    call.window.open();
    clearTimeout(call.timer);
    this.#closeWhenIdle();
  }

  #closeWhenIdle(): void {
    if (!this.#isHalfClosed || this.#pendingCalls.size > 0 || this.#stream.writableEnded) return;
    this.#batcher.flush();
    this.#stream.end();
  }
}

const INTERNAL_ERROR = new RpcError(status.INTERNAL, "internal_error", "internal error");

function requireAllowedSize(response: Uint8Array): Uint8Array {
  if (response.length <= MAX_RESPONSE_BYTES) return response;
  throw new RpcError(status.RESOURCE_EXHAUSTED, "resource_exhausted", "the response is too large");
}

/** Returns the stream's metadata, overridden by one call's entries. Throws if a name or value is not valid in a header. */
function mergeMetadata(streamMetadata: Metadata, entries: readonly [string, string][]): Metadata {
  if (entries.length === 0) return streamMetadata;
  const metadata = streamMetadata.clone();
  for (const [name, value] of entries) metadata.set(name, value);
  return metadata;
}
