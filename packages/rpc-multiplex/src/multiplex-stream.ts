import { create, type Message, type MessageInitShape } from "@bufbuild/protobuf";
import type { Client, ClientDuplexStream, Metadata } from "@grpc/grpc-js";
import { type Call, RpcError, status, toMethodDefinition } from "@parley/rpc";
import {
  type AnswerFrame,
  type CallFrameSchema,
  CallsService,
  type MultiplexRequest,
  MultiplexRequestSchema,
  type MultiplexResponse,
} from "@parley/rpc/calls";
import { FLOW_CONTROL_WINDOW_BYTES } from "./flow-control.ts";
import { FrameBatcher } from "./frame-batcher.ts";

/** The longest deadline of a multiplexed call: more than the longest generation takes (360 s). */
export const MAX_CALL_MS = 380_000;
/** A stream accepts no calls after this time, even if MultiplexClient has not replaced the stream. */
const MAX_ACCEPT_MS = 1_000;
/** A replica that does not answer within this time gets no multiplexed calls. */
const OPEN_TIMEOUT_MS = 500;

type CallFrame = MessageInitShape<typeof CallFrameSchema>;

type PendingCall = {
  /** Called with each response, and with the end of a successful call. The response and the end of a unary call come together. */
  receive(response: Uint8Array | undefined, isLast: boolean): void;
  /** Called when the peer reports an error or the stream is lost. The caller can still read earlier responses. */
  fail(error: RpcError): void;
  /** Called when the caller cancels or the deadline passes. Unread responses are dropped. */
  abort(error: RpcError): void;
};

type QueueItem = { response: Uint8Array | undefined; isLast: boolean } | RpcError;

class ResponseQueue implements PendingCall {
  readonly #items: QueueItem[] = [];
  #arrival = Promise.withResolvers<void>();

  receive(response: Uint8Array | undefined, isLast: boolean): void {
    this.#push({ response, isLast });
  }

  fail(error: RpcError): void {
    this.#push(error);
  }

  abort(error: RpcError): void {
    this.#items.length = 0;
    this.#push(error);
  }

  /** Resolves when an item has arrived since this method last resolved. */
  async waitForItem(): Promise<void> {
    await this.#arrival.promise;
    this.#arrival = Promise.withResolvers();
  }

  shift(): QueueItem | undefined {
    return this.#items.shift();
  }

  #push(item: QueueItem): void {
    this.#items.push(item);
    this.#arrival.resolve();
  }
}

type StartedCall = {
  callId: number;
  /** Ends the call locally, and sends a cancel frame if the peer has not ended the call. */
  finish: () => void;
};

/** The client side of one stream to a replica. */
export class MultiplexStream {
  readonly #stream: ClientDuplexStream<MultiplexRequest, MultiplexResponse>;
  readonly #batcher: FrameBatcher<CallFrame, MultiplexRequest>;
  readonly #peerAddress: Promise<string | undefined>;
  /** The calls that neither the caller nor the peer has ended. */
  readonly #pendingCalls = new Map<number, PendingCall>();
  #nextCallId = 0;
  #isRetired: boolean = false;
  #hasEnded: boolean = false;

  /** @param onEnd called with the stream's own status when the stream ends. */
  constructor(channel: Client, metadata: Metadata, onEnd: (streamStatus: status) => void) {
    const deadline = Date.now() + MAX_ACCEPT_MS + MAX_CALL_MS;
    const { path, requestSerialize, responseDeserialize } = toMethodDefinition(CallsService.method.multiplex);
    this.#stream = channel.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata, { deadline });
    this.#batcher = new FrameBatcher(this.#stream, (frames) => create(MultiplexRequestSchema, { frames }));
    this.#stream.on("data", ({ frames }: MultiplexResponse) => {
      for (const frame of frames) this.#receive(frame);
    });
    // The "status" handler below handles every error, because "status" follows "error".
    this.#stream.on("error", () => undefined);
    this.#peerAddress = new Promise((resolve) => {
      this.#stream.once("metadata", () => resolve(this.#stream.getPeer()));
      this.#stream.once("status", () => resolve(undefined));
      setTimeout(() => resolve(undefined), OPEN_TIMEOUT_MS).unref();
    });
    this.#stream.on("status", ({ code }) => {
      this.#handleStreamEnd();
      onEnd(code);
    });
    setTimeout(() => this.retire(), MAX_ACCEPT_MS).unref();
  }

  get acceptsCalls(): boolean {
    return !this.#isRetired && !this.#batcher.isBlocked;
  }

  /** Resolves with undefined if the replica does not answer within OPEN_TIMEOUT_MS. */
  peerAddress(): Promise<string | undefined> {
    return this.#peerAddress;
  }

  /** Closes the stream immediately. The stream must have no calls. */
  cancel(): void {
    this.#isRetired = true;
    this.#stream.cancel();
  }

  /** Accepts no more calls, and closes the stream when its calls have ended. */
  retire(): void {
    this.#isRetired = true;
    this.#closeWhenIdle();
  }

  /** Throws RpcError: UNAVAILABLE if the stream is lost during the call. */
  async unary(call: Call, request: Uint8Array): Promise<Message> {
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
    const receive = (response = new Uint8Array()) => resolve(response);
    const { finish } = this.#start(call, request, { receive, fail: reject, abort: reject });
    try {
      return call.method.responseDeserialize((await promise) as Buffer);
    } finally {
      finish();
    }
  }

  /**
   * Starts a call whose responses the caller must read. Reading throws as `unary` does. Cancels the call if the caller stops reading early.
   * Not a generator, because a generator would keep the request in memory until the call ends.
   */
  serverStream(call: Call, request: Uint8Array): AsyncIterable<Message> {
    const queue = new ResponseQueue();
    return this.#readResponses(call.method, queue, this.#start(call, request, queue));
  }

  async *#readResponses(
    { responseDeserialize }: Call["method"],
    queue: ResponseQueue,
    { callId, finish }: StartedCall,
  ): AsyncGenerator<Message> {
    let readBytes = 0;
    try {
      for (;;) {
        await queue.waitForItem();
        for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
          if (item instanceof RpcError) throw item;
          const { response, isLast } = item;
          if (response !== undefined) yield responseDeserialize(response as Buffer);
          if (isLast) return;
          readBytes += response?.length ?? 0;
        }
        if (readBytes < FLOW_CONTROL_WINDOW_BYTES / 2) continue;
        this.#sendIfPending({ callId, step: { case: "takenBytes", value: readBytes } });
        readBytes = 0;
      }
    } finally {
      finish();
    }
  }

  #start({ method, metadata, deadlineMs, signal }: Call, request: Uint8Array, pending: PendingCall): StartedCall {
    const callId = this.#nextCallId++;
    const timeoutMs = Math.max(1, Math.ceil(deadlineMs - Date.now()));
    const finish = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", cancel);
      this.#cancelIfPending(callId);
    };
    const abort = (error: RpcError) => {
      finish();
      pending.abort(error);
    };
    const cancel = () => abort(new RpcError(status.CANCELLED, "cancelled", "the caller cancelled the call"));
    // The deadline applies until the caller has read every response, even if all responses have already arrived.
    const timer = setTimeout(
      () =>
        abort(
          new RpcError(status.DEADLINE_EXCEEDED, "deadline_exceeded", "the peer did not respond before the deadline"),
        ),
      timeoutMs,
    );
    signal?.addEventListener("abort", cancel, { once: true });
    this.#pendingCalls.set(callId, pending);
    const begin = {
      method: method.path.slice(1),
      timeoutMs,
      metadata: metadata.getMap() as Record<string, string>,
      request,
    };
    this.#batcher.add({ callId, step: { case: "begin", value: begin } }, request.length);
    return { callId, finish };
  }

  #receive({ callId, response, end }: AnswerFrame): void {
    const pending = this.#pendingCalls.get(callId);
    if (end) this.#remove(callId);
    if (end === undefined || end.status === status.OK) pending?.receive(response, end !== undefined);
    else pending?.fail(new RpcError(end.status, end.code, end.message));
  }

  #cancelIfPending(callId: number): void {
    this.#sendIfPending({ callId, step: { case: "cancel", value: {} } });
    this.#remove(callId);
  }

  #remove(callId: number): void {
    this.#pendingCalls.delete(callId);
    this.#closeWhenIdle();
  }

  #handleStreamEnd(): void {
    this.#isRetired = true;
    this.#hasEnded = true;
    const lost = new RpcError(status.UNAVAILABLE, "unavailable", "the connection was lost");
    for (const [callId, pending] of this.#pendingCalls) {
      this.#pendingCalls.delete(callId);
      pending.fail(lost);
    }
  }

  #sendIfPending(frame: CallFrame & { callId: number }): void {
    if (this.#pendingCalls.get(frame.callId) !== undefined) this.#batcher.add(frame, 0);
  }

  #closeWhenIdle(): void {
    if (!this.#isRetired || this.#hasEnded || this.#pendingCalls.size > 0 || this.#stream.writableEnded) return;
    this.#batcher.flush();
    this.#stream.end();
  }
}
