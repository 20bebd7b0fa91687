import type { Message } from "@bufbuild/protobuf";
import { type Client, connectivityState, Metadata } from "@grpc/grpc-js";
import { type Call, type CallTransport, type MetadataWriter, RpcError, status } from "@parley/rpc";
import { MAX_CALL_MS, MultiplexStream } from "./multiplex-stream.ts";
import { RetryBudget } from "./retry-budget.ts";

/** A larger request gets a gRPC call of its own, so that it does not delay the small requests. */
const MAX_REQUEST_BYTES = 64 * 1024;
/** How often the streams are replaced, so that a new replica soon gets its share of calls and a stopping replica soon loses its streams. */
const RENEW_AFTER_MS = 500;
/** How long the client opens no streams after a peer has responded with UNIMPLEMENTED. */
const UNIMPLEMENTED_RETRY_MS = 60_000;

export type MultiplexOptions = {
  /** Sends the calls that are not multiplexed. */
  fallback: CallTransport;
  /** Adds the credentials to the metadata of each stream. The stream's metadata applies to all its calls. */
  writeMetadata: MetadataWriter;
  /** Whether server-streaming calls are multiplexed too. Only for services whose streamed responses are small. */
  multiplexesStreams: boolean;
  /** Paths of methods that are retried without a budget, such as `/parley.quota.v1.QuotaService/Settle`. */
  alwaysRetried: ReadonlySet<string>;
};

/**
 * Sends many calls on one gRPC stream per replica, because a multiplexed call takes a fraction of a gRPC call's CPU time. If no stream is open,
 * or if a call cannot be multiplexed, `fallback` sends the call. If the stream of a unary call is lost or the stream's peer is unavailable, the
 * client retries the call once through `fallback`, so every unary method must be idempotent. A budget limits these retries to 10 % of the calls.
 * The budget does not apply to the methods in `alwaysRetried`: they are retried even if `fallback` sent the first attempt.
 */
export class MultiplexClient implements CallTransport {
  readonly #client: Client;
  readonly #options: MultiplexOptions;
  readonly #retryBudget = new RetryBudget();
  /** One stream per replica, sorted by the replica's address. */
  #streams: readonly MultiplexStream[] = [];
  #nextStreamIndex = 0;
  #isRenewing: boolean = false;
  #renewAtMs = Number.NEGATIVE_INFINITY;

  constructor(client: Client, options: MultiplexOptions) {
    this.#client = client;
    this.#options = options;
  }

  async unary(call: Call): Promise<Message> {
    const request = call.method.requestSerialize(call.request);
    const stream = this.#streamFor(call, request);
    const { fallback, alwaysRetried } = this.#options;
    const sendPlainCall = () => fallback.unary(withEncodedRequest(call, request));
    this.#retryBudget.recordCall();
    let firstError: unknown;
    try {
      return await (stream?.unary(call, request) ?? sendPlainCall());
    } catch (error) {
      if (!hasStatus(error, status.UNAVAILABLE)) throw error;
      // gRPC has already retried a plain call, within its own budget.
      const takeRetry = () => stream !== undefined && this.#retryBudget.takeRetry();
      if (!alwaysRetried.has(call.method.path) && !takeRetry()) throw error;
      firstError = error;
    }
    try {
      return await sendPlainCall();
    } catch (error) {
      // The first attempt may have succeeded, although the retry was refused.
      throw hasStatus(error, status.RESOURCE_EXHAUSTED) ? firstError : RpcError.from(error).asRetry();
    }
  }

  serverStream(call: Call): AsyncIterable<Message> {
    const { multiplexesStreams, fallback } = this.#options;
    if (!multiplexesStreams) return fallback.serverStream(call);
    const request = call.method.requestSerialize(call.request);
    const stream = this.#streamFor(call, request);
    return stream?.serverStream(call, request) ?? fallback.serverStream(withEncodedRequest(call, request));
  }

  /** Returns the next stream that accepts calls, round robin over the replicas. Undefined if none does, or if the call cannot be multiplexed. */
  #streamFor({ deadlineMs, signal }: Call, request: Uint8Array): MultiplexStream | undefined {
    if (performance.now() > this.#renewAtMs) void this.#renewStreams();
    if (request.length > MAX_REQUEST_BYTES || deadlineMs - Date.now() > MAX_CALL_MS || signal?.aborted)
      return undefined;
    for (const _ of this.#streams) {
      const stream = this.#streams[this.#nextStreamIndex++ % this.#streams.length];
      if (stream?.acceptsCalls) return stream;
    }
    return undefined;
  }

  /**
   * Replaces the streams with one new stream to each replica that answers. grpc-js does not list a channel's replicas, but its round robin
   * gives consecutive streams to consecutive replicas, unless another call comes between. So this method opens streams until two in a row reach
   * no new replica.
   */
  async #renewStreams(): Promise<void> {
    if (this.#isRenewing || !this.#isConnected()) return;
    this.#isRenewing = true;
    this.#renewAtMs = performance.now() + RENEW_AFTER_MS;
    const streams = new Map<string, MultiplexStream>();
    let misses = 0;
    try {
      while (misses < 2 && this.#isConnected()) {
        const stream = this.#openStream();
        const replica = await stream.peerAddress();
        if (replica === undefined || streams.has(replica)) {
          stream.cancel();
          misses++;
        } else {
          streams.set(replica, stream);
          misses = 0;
        }
      }
    } finally {
      const previous = this.#streams;
      this.#streams = [...streams].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, stream]) => stream);
      for (const stream of previous) stream.retire();
      this.#isRenewing = false;
    }
  }

  #isConnected(): boolean {
    return this.#client.getChannel().getConnectivityState(false) === connectivityState.READY;
  }

  #openStream(): MultiplexStream {
    const metadata = new Metadata();
    this.#options.writeMetadata(metadata);
    return new MultiplexStream(this.#client, metadata, (streamStatus) => {
      if (streamStatus === status.UNIMPLEMENTED) this.#renewAtMs = performance.now() + UNIMPLEMENTED_RETRY_MS;
    });
  }
}

const hasStatus = (error: unknown, expected: status) => RpcError.from(error).status === expected;

/** Returns the call with its request already encoded, because encoding a large request again takes memory of several times its size. */
function withEncodedRequest(call: Call, request: Buffer): Call {
  return { ...call, method: { ...call.method, requestSerialize: () => request } };
}
