import {
  create,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { type Client, type ClientReadableStream, Metadata, type MethodDefinition } from "@grpc/grpc-js";
import { whenConnected } from "./connected.ts";
import { methodDefinition } from "./definition.ts";
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

/** A typed client of `service` over a channel. */
export function createClient<S extends DescService>(
  service: S,
  channel: Client,
  write: MetadataWriter,
  observe?: CallObserver,
): RpcClient<S> {
  const methods = service.methods.map((method) => {
    const definition = methodDefinition(method);
    const call = (init: never, options: CallOptions) => {
      const request = create(method.input, init) as Message;
      const metadata = new Metadata();
      write(metadata);
      return definition.responseStream
        ? serverStream(channel, definition, request, metadata, options, observe)
        : unary(channel, definition, request, metadata, options, observe);
    };
    return [method.localName, call];
  });
  return Object.fromEntries(methods) as RpcClient<S>;
}

type Definition = MethodDefinition<Message, Message>;

function unary(
  channel: Client,
  method: Definition,
  request: Message,
  metadata: Metadata,
  options: CallOptions,
  observe: CallObserver | undefined,
) {
  const ended = observe?.(method.path.slice(1), metadata);
  if (options.waitForReady) metadata.setOptions({ waitForReady: true });
  return new Promise<Message>((resolve, reject) => {
    const cancel = () => call.cancel();
    const call = channel.makeUnaryRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      metadata,
      { deadline: Date.now() + options.timeoutMs },
      (error, response) => {
        options.signal?.removeEventListener("abort", cancel);
        const failure = error ? RpcError.from(error) : undefined;
        ended?.(failure);
        if (failure) reject(failure);
        else resolve(response as Message);
      },
    );
    if (options.signal?.aborted) cancel();
    else options.signal?.addEventListener("abort", cancel, { once: true });
  });
}

async function* serverStream(
  channel: Client,
  method: Definition,
  request: Message,
  metadata: Metadata,
  options: CallOptions,
  observe: CallObserver | undefined,
): AsyncGenerator<Message> {
  const ended = observe?.(method.path.slice(1), metadata);
  let failure: RpcError | undefined;
  let call: ClientReadableStream<Message> | undefined;
  const cancel = () => call?.cancel();
  try {
    // A stream's deadline is that of the longest one; a peer that does not even connect is given up much sooner.
    await whenConnected(channel, options.signal);
    call = channel.makeServerStreamRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      metadata,
      { deadline: Date.now() + options.timeoutMs },
    );
    if (options.signal?.aborted) cancel();
    else options.signal?.addEventListener("abort", cancel, { once: true });
    for await (const message of call) yield message as Message;
  } catch (error) {
    failure = error instanceof RpcError ? error : RpcError.from(error);
    throw failure;
  } finally {
    options.signal?.removeEventListener("abort", cancel);
    // Whoever stops reading early leaves no call behind.
    cancel();
    ended?.(failure);
  }
}
