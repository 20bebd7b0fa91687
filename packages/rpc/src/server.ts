import { once } from "node:events";
import {
  create,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import type {
  Metadata,
  Server,
  ServerUnaryCall,
  ServerWritableStream,
  sendUnaryData,
  UntypedHandleCall,
} from "@grpc/grpc-js";
import { serviceDefinition } from "./definition.ts";
import { RpcError, status } from "./error.ts";

export type CallContext = {
  /** The method, e.g. `parley.quota.v1.QuotaService/Reserve`. */
  method: string;
  /** Aborted when the caller cancels, goes away or its deadline passes. */
  signal: AbortSignal;
  metadata: Metadata;
  /** What was asked, for what runs around every call; a handler is given it typed. */
  request: Message;
};

/** One function a method of the service. */
export type ServiceImplementation<S extends DescService> = {
  [K in keyof S["method"]]: S["method"][K] extends DescMethodUnary<infer I, infer O>
    ? (request: MessageShape<I>, context: CallContext) => Promise<MessageInitShape<O>>
    : S["method"][K] extends DescMethodServerStreaming<infer I, infer O>
      ? (request: MessageShape<I>, context: CallContext) => AsyncIterable<MessageInitShape<O>>
      : never;
};

/** Runs around every call: refuses it, times it, or turns what it throws into an RpcError. */
export type Interceptor = (context: CallContext, next: () => Promise<void>) => Promise<void>;

type UnaryHandler = (request: Message, context: CallContext) => Promise<object>;
type StreamHandler = (request: Message, context: CallContext) => AsyncIterable<object>;

/** Serves `implementation` on a grpc-js server; `intercept` runs around each call. */
export function implementService<S extends DescService>(
  server: Server,
  service: S,
  implementation: ServiceImplementation<S>,
  intercept: Interceptor,
): void {
  const handlers = implementation as Record<string, unknown>;
  const bound = service.methods.map((method): [string, UntypedHandleCall] => {
    const handler = handlers[method.localName];
    return [
      method.name,
      method.methodKind === "server_streaming"
        ? streamHandler(method, handler as StreamHandler, intercept)
        : unaryHandler(method, handler as UnaryHandler, intercept),
    ];
  });
  server.addService(serviceDefinition(service), Object.fromEntries(bound));
}

// grpc-js says "cancelled" at the end of every call, so the reason is made once, not a DOMException with its stack a call.
const LEFT = new RpcError(status.CANCELLED, "cancelled", "the caller went away");

function contextOf(
  method: DescMethod,
  call: ServerUnaryCall<Message, Message> | ServerWritableStream<Message, Message>,
) {
  const controller = new AbortController();
  call.on("cancelled", () => controller.abort(LEFT));
  return {
    method: `${method.parent.typeName}/${method.name}`,
    signal: controller.signal,
    metadata: call.metadata,
    request: call.request,
  };
}

function asRpcError(error: unknown): RpcError {
  if (error instanceof RpcError) return error;
  return new RpcError(status.INTERNAL, "internal_error", "internal error", { cause: error });
}

function unaryHandler(method: DescMethod, handler: UnaryHandler, intercept: Interceptor) {
  return (call: ServerUnaryCall<Message, Message>, callback: sendUnaryData<Message>) => {
    const context = contextOf(method, call);
    let response: Message | undefined;
    intercept(context, async () => {
      response = create(method.output, (await handler(call.request, context)) as never) as Message;
    }).then(
      () => callback(null, response),
      (error: unknown) => callback(asRpcError(error).toStatus()),
    );
  };
}

function streamHandler(method: DescMethod, handler: StreamHandler, intercept: Interceptor) {
  return (call: ServerWritableStream<Message, Message>) => {
    const context = contextOf(method, call);
    intercept(context, async () => {
      for await (const item of handler(call.request, context)) {
        if (context.signal.aborted) return;
        // A peer that does not read must not make us buffer.
        if (!call.write(create(method.output, item as never) as Message)) await drained(call, context.signal);
      }
    }).then(
      () => call.end(),
      (error: unknown) => call.emit("error", asRpcError(error).toStatus()),
    );
  };
}

async function drained(call: ServerWritableStream<Message, Message>, signal: AbortSignal): Promise<void> {
  try {
    await once(call, "drain", { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
