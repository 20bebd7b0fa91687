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

/** Told of every call that fails or is cancelled, by its method, e.g. `parley.quota.v1.QuotaService/Reserve`. */
export type FailureObserver = (method: string, error: RpcError) => void;

/** A typed client of `service` over a channel. */
export function createClient<S extends DescService>(
  service: S,
  channel: Client,
  write: MetadataWriter,
  onFailure: FailureObserver = () => undefined,
): RpcClient<S> {
  const methods = service.methods.map((method) => {
    const definition = methodDefinition(method);
    const call = (init: never, options: CallOptions) => {
      const request = create(method.input, init) as Message;
      const metadata = new Metadata();
      write(metadata);
      return definition.responseStream
        ? serverStream(channel, definition, request, metadata, options, onFailure)
        : unary(channel, definition, request, metadata, options, onFailure);
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
  onFailure: FailureObserver,
) {
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
        if (error) reject(failed(method, error, onFailure));
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
  onFailure: FailureObserver,
): AsyncGenerator<Message> {
  // A stream's deadline is that of the longest one; a peer that does not even connect is given up much sooner.
  await whenConnected(channel, options.signal).catch((error: unknown) => {
    throw failed(method, error, onFailure);
  });
  const call: ClientReadableStream<Message> = channel.makeServerStreamRequest(
    method.path,
    method.requestSerialize,
    method.responseDeserialize,
    request,
    metadata,
    { deadline: Date.now() + options.timeoutMs },
  );
  const cancel = () => call.cancel();
  if (options.signal?.aborted) cancel();
  else options.signal?.addEventListener("abort", cancel, { once: true });
  try {
    for await (const message of call) yield message as Message;
  } catch (error) {
    throw failed(method, error, onFailure);
  } finally {
    options.signal?.removeEventListener("abort", cancel);
    // Whoever stops reading early leaves no call behind.
    call.cancel();
  }
}

function failed(method: Definition, cause: unknown, onFailure: FailureObserver): RpcError {
  const error = cause instanceof RpcError ? cause : RpcError.from(cause);
  onFailure(method.path.slice(1), error);
  return error;
}
