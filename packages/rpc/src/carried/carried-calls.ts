import type { Message } from "@bufbuild/protobuf";
import { type Client, connectivityState, Metadata } from "@grpc/grpc-js";
import type { Definition } from "../definition.ts";
import { RpcError, status } from "../error.ts";
import { type Call, MAX_CALL_MS, SharedStream } from "./shared-stream.ts";

/** Larger requests go by themselves, so that none stands in the way of small ones. */
const MAX_REQUEST_BYTES = 64 * 1024;
/** So often new streams take over, so that a new replica has its share and none is kept by its callers when it stops. */
const RENEW_AFTER_MS = 500;
/** A peer that knows of no shared streams is an earlier version; it is asked again after so long. */
const ASK_AGAIN_MS = 60_000;

/**
 * Carries calls to a peer on streams that they share, which costs a fraction of a call of its own. Whenever there is none, too much to
 * carry or something in the way, a call is to be made by itself: nothing waits for a stream.
 */
export class CarriedCalls {
  readonly #channel: Client;
  readonly #write: (metadata: Metadata) => void;
  /** One to each replica, in an order of their own that stays. */
  #streams: readonly SharedStream[] = [];
  #isOpening: boolean = false;
  #renewAtMs = Number.NEGATIVE_INFINITY;
  #turn = 0;

  /** @param write fills the metadata of a stream, which is that of all its calls. */
  constructor(channel: Client, write: (metadata: Metadata) => void) {
    this.#channel = channel;
    this.#write = write;
  }

  /** Resolves with the response; undefined when the call is to be made by itself, perhaps once more: it must be idempotent. Throws RpcError. */
  async unary(method: Definition, request: Message, call: Call): Promise<Message | undefined> {
    const bytes = method.requestSerialize(request);
    const stream = this.#streamFor(bytes, call);
    if (stream === undefined) return undefined;
    try {
      return method.responseDeserialize((await stream.unary(method.path.slice(1), bytes, call)) as Buffer);
    } catch (error) {
      // By itself it would have been tried again.
      if (error instanceof RpcError && error.status === status.UNAVAILABLE) return undefined;
      throw error;
    }
  }

  /** The responses, encoded; undefined when the call is to be made by itself. What is read of them throws RpcError. */
  serverStream(method: Definition, request: Message, call: Call): AsyncIterable<Uint8Array> | undefined {
    const bytes = method.requestSerialize(request);
    return this.#streamFor(bytes, call)?.serverStream(method.path.slice(1), bytes, call);
  }

  /** Each replica in its turn; undefined when there is no stream that would take this call. */
  #streamFor(request: Uint8Array, { deadline, signal }: Call): SharedStream | undefined {
    if (performance.now() > this.#renewAtMs) void this.#renew();
    if (request.length > MAX_REQUEST_BYTES || deadline - Date.now() > MAX_CALL_MS || signal?.aborted) return undefined;
    for (const _ of this.#streams) {
      const stream = this.#streams[this.#turn++ % this.#streams.length];
      if (stream?.takesCalls) return stream;
    }
    return undefined;
  }

  /**
   * The channel gives stream after stream to its replicas in turn, unless calls of their own come between. Once two have brought nothing
   * new, each has one, but those that do not answer.
   */
  async #renew(): Promise<void> {
    if (this.#isOpening || !this.#isReady()) return;
    this.#isOpening = true;
    this.#renewAtMs = performance.now() + RENEW_AFTER_MS;
    const streams = new Map<string, SharedStream>();
    let nothingNew = 0;
    try {
      while (nothingNew < 2 && this.#isReady()) {
        const stream = this.#open();
        const peer = await stream.peer();
        if (peer === undefined || streams.has(peer)) {
          stream.cancel();
          nothingNew++;
        } else {
          streams.set(peer, stream);
          nothingNew = 0;
        }
      }
    } finally {
      const before = this.#streams;
      this.#streams = [...streams].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, stream]) => stream);
      for (const stream of before) stream.retire();
      this.#isOpening = false;
    }
  }

  #isReady(): boolean {
    return this.#channel.getChannel().getConnectivityState(false) === connectivityState.READY;
  }

  #open(): SharedStream {
    const metadata = new Metadata();
    this.#write(metadata);
    return new SharedStream(this.#channel, metadata, (code) => {
      if (code === status.UNIMPLEMENTED) this.#renewAtMs = performance.now() + ASK_AGAIN_MS;
    });
  }
}
