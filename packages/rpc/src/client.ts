import {
  create,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { Metadata } from "@grpc/grpc-js";
import { RpcError } from "./error.ts";
import { type GrpcMethod, toMethodDefinition } from "./method-definition.ts";
import type { Call, CallTransport } from "./transport.ts";

export type CallOptions = {
  /** Required, because without a deadline a call can hang when its peer restarts. */
  timeoutMs: number;
  /** If aborted, cancels the call locally and at the peer. */
  signal?: AbortSignal;
  /**
   * Whether a unary call waits for an unreachable peer until the deadline. For background work only: no visitor should wait that long.
   * Streams ignore this option.
   */
  waitForReady?: boolean;
};

/** One function per method: a unary call returns a promise, a stream an async iterable. A failed call throws an RpcError. */
export type RpcClient<S extends DescService> = {
  [K in keyof S["method"]]: S["method"][K] extends DescMethodUnary<infer I, infer O>
    ? (request: MessageInitShape<I>, options: CallOptions) => Promise<MessageShape<O>>
    : S["method"][K] extends DescMethodServerStreaming<infer I, infer O>
      ? (request: MessageInitShape<I>, options: CallOptions) => AsyncIterable<MessageShape<O>>
      : never;
};

/**
 * Called when a call starts, with its method such as `parley.quota.v1.QuotaService/Reserve`. May add to the metadata. The function that it
 * returns is called when the call ends.
 */
export type CallObserver = (method: string, metadata: Metadata) => ((error?: RpcError) => void) | undefined;

export function createClient<S extends DescService>(
  service: S,
  transport: CallTransport,
  observe?: CallObserver,
): RpcClient<S> {
  const methods = service.methods.map((method) => {
    const definition: GrpcMethod = toMethodDefinition(method);
    const createCall = (init: never, { timeoutMs, signal, waitForReady = false }: CallOptions): Call => ({
      method: definition,
      request: create(method.input, init) as Message,
      metadata: new Metadata(),
      deadlineMs: Date.now() + timeoutMs,
      signal,
      waitForReady,
    });
    const run = definition.responseStream ? runServerStream : runUnary;
    const invoke = (init: never, options: CallOptions) => run(transport, createCall(init, options), observe);
    return [method.localName, invoke];
  });
  return Object.fromEntries(methods) as RpcClient<S>;
}

async function runUnary(transport: CallTransport, call: Call, observe?: CallObserver): Promise<Message> {
  const onEnd = observe?.(call.method.path.slice(1), call.metadata);
  let failure: RpcError | undefined;
  try {
    return await transport.unary(call);
  } catch (error) {
    failure = RpcError.from(error);
    throw failure;
  } finally {
    onEnd?.(failure);
  }
}

/** Not a generator, because a generator would keep the request in memory until the stream ends. */
function runServerStream(transport: CallTransport, call: Call, observe?: CallObserver): AsyncIterable<Message> {
  const onEnd = observe?.(call.method.path.slice(1), call.metadata);
  return readResponses(transport.serverStream(call), onEnd);
}

async function* readResponses(
  responses: AsyncIterable<Message>,
  onEnd: ReturnType<CallObserver>,
): AsyncGenerator<Message> {
  let failure: RpcError | undefined;
  try {
    yield* responses;
  } catch (error) {
    failure = RpcError.from(error);
    throw failure;
  } finally {
    onEnd?.(failure);
  }
}
