import {
  create,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { type Client, type ClientReadableStream, Metadata } from "@grpc/grpc-js";
import { CarriedCalls } from "./carried/carried-calls.ts";
import type { Call } from "./carried/shared-stream.ts";
import { whenConnected } from "./connected.ts";
import { type Definition, methodDefinition } from "./definition.ts";
import { RpcError } from "./error.ts";

export type CallOptions = {
  /** The call's deadline from now; a call without one can hang when its peer restarts. */
  timeoutMs: number;
  /** Cancels the call, here and at the peer. */
  signal?: AbortSignal;
  /** Waits, until the deadline, for a peer that is away or just starting, instead of failing at once. For calls that no visitor waits for. */
  waitForReady?: boolean;
};

/** One function a method: unary calls return a promise, streams an async iterable; both throw RpcError. */
export type RpcClient<S extends DescService> = {
  [K in keyof S["method"]]: S["method"][K] extends DescMethodUnary<infer I, infer O>
    ? (request: MessageInitShape<I>, options: CallOptions) => Promise<MessageShape<O>>
    : S["method"][K] extends DescMethodServerStreaming<infer I, infer O>
      ? (request: MessageInitShape<I>, options: CallOptions) => AsyncIterable<MessageShape<O>>
      : never;
};

/** Fills a call's metadata: credentials, trace context. */
export type MetadataWriter = (metadata: Metadata) => void;

/** Told of each call when it begins, when it may add to its metadata; what it gives back is told of the end. */
export type CallObserver = (method: string, metadata: Metadata) => ((error?: RpcError) => void) | undefined;

/** Which calls go on streams that they share, which makes them cheap: the unary ones, all of which must be idempotent, or streams of small messages too. */
export type Sharing = "none" | "unary" | "all";

export type ClientOptions = { observe?: CallObserver; sharing?: Sharing };

type Peer = {
  channel: Client;
  write: MetadataWriter;
  observe: CallObserver | undefined;
  sharing: Sharing;
  carried: CarriedCalls;
};

/** A typed client of `service` over a channel. */
export function createClient<S extends DescService>(
  service: S,
  channel: Client,
  write: MetadataWriter,
  { observe, sharing = "none" }: ClientOptions = {},
): RpcClient<S> {
  const peer: Peer = { channel, write, observe, sharing, carried: new CarriedCalls(channel, write) };
  const methods = service.methods.map((method) => {
    const definition = methodDefinition(method);
    const call = (init: never, options: CallOptions) => {
      const request = create(method.input, init) as Message;
      return (definition.responseStream ? serverStream : unary)(peer, definition, request, options);
    };
    return [method.localName, call];
  });
  return Object.fromEntries(methods) as RpcClient<S>;
}

async function unary(peer: Peer, method: Definition, request: Message, options: CallOptions): Promise<Message> {
  const call = { metadata: new Metadata(), deadline: Date.now() + options.timeoutMs, signal: options.signal };
  const ended = peer.observe?.(method.path.slice(1), call.metadata);
  let failure: RpcError | undefined;
  try {
    const carried = peer.sharing === "none" ? undefined : await peer.carried.unary(method, request, call);
    if (carried !== undefined) return carried;
    peer.write(call.metadata);
    if (options.waitForReady) call.metadata.setOptions({ waitForReady: true });
    return await unaryByItself(peer.channel, method, request, call);
  } catch (error) {
    failure = error instanceof RpcError ? error : RpcError.from(error);
    throw failure;
  } finally {
    ended?.(failure);
  }
}

function unaryByItself(channel: Client, method: Definition, request: Message, call: Call): Promise<Message> {
  const { metadata, deadline, signal } = call;
  return new Promise<Message>((resolve, reject) => {
    const cancel = () => ongoing.cancel();
    const ongoing = channel.makeUnaryRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      metadata,
      { deadline },
      (error, response) => {
        signal?.removeEventListener("abort", cancel);
        if (error) reject(RpcError.from(error));
        else resolve(response as Message);
      },
    );
    if (signal?.aborted) cancel();
    else signal?.addEventListener("abort", cancel, { once: true });
  });
}

async function* serverStream(
  peer: Peer,
  method: Definition,
  request: Message,
  options: CallOptions,
): AsyncGenerator<Message> {
  const call = { metadata: new Metadata(), deadline: Date.now() + options.timeoutMs, signal: options.signal };
  const ended = peer.observe?.(method.path.slice(1), call.metadata);
  let failure: RpcError | undefined;
  try {
    const carried = peer.sharing === "all" ? peer.carried.serverStream(method, request, call) : undefined;
    if (carried) for await (const bytes of carried) yield method.responseDeserialize(bytes as Buffer);
    else yield* streamByItself(peer, method, request, call, options.timeoutMs);
  } catch (error) {
    failure = error instanceof RpcError ? error : RpcError.from(error);
    throw failure;
  } finally {
    ended?.(failure);
  }
}

async function* streamByItself(
  { channel, write }: Peer,
  method: Definition,
  request: Message,
  { metadata, signal }: Call,
  timeoutMs: number,
): AsyncGenerator<Message> {
  let ongoing: ClientReadableStream<Message> | undefined;
  const cancel = () => ongoing?.cancel();
  write(metadata);
  try {
    // A stream's deadline is that of the longest one; a peer that does not even connect is given up much sooner.
    await whenConnected(channel, signal);
    const { path, requestSerialize, responseDeserialize } = method;
    const deadline = Date.now() + timeoutMs;
    ongoing = channel.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request, metadata, {
      deadline,
    });
    if (signal?.aborted) cancel();
    else signal?.addEventListener("abort", cancel, { once: true });
    for await (const message of ongoing) yield message as Message;
  } finally {
    signal?.removeEventListener("abort", cancel);
    // Whoever stops reading early leaves no call behind.
    cancel();
  }
}
