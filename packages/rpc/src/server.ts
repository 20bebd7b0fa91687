import { once } from "node:events";
import {
  create,
  type DescMessage,
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
import { CALL_CANCELLED, RpcError, status } from "./error.ts";
import { fullMethodName, type GrpcMethod, toMethodDefinition, toServiceDefinition } from "./method-definition.ts";
import { findInvalidField } from "./rules.ts";

export type CallContext = {
  /** Such as `parley.quota.v1.QuotaService/Reserve`. */
  method: string;
  /** Aborted when the caller cancels or disconnects, or when the deadline passes. If the call is not multiplexed, also aborted when the call ends. */
  signal: AbortSignal;
  metadata: Metadata;
  /** For interceptors. A handler receives the typed request as its first argument. */
  request: Message;
};

/** A service that is also served with Connect needs only the `signal` of the context. */
export type ServiceImplementation<S extends DescService, Context = CallContext> = {
  [K in keyof S["method"]]: S["method"][K] extends DescMethodUnary<infer I, infer O>
    ? (request: MessageShape<I>, context: Context) => Promise<MessageInitShape<O>>
    : S["method"][K] extends DescMethodServerStreaming<infer I, infer O>
      ? (request: MessageShape<I>, context: Context) => AsyncIterable<MessageInitShape<O>>
      : never;
};

/** Runs around every call: `next` runs the handler. May refuse the call, measure it, or convert its errors to RpcError. */
export type Interceptor = (context: CallContext, next: () => Promise<void>) => Promise<void>;

/** Sends one response of a stream. Returns a promise under backpressure: the next response must wait for it. */
export type SendResponse = (response: Message) => Promise<unknown> | undefined;

/** A method with its handler and interceptor, which any transport can serve. */
export type ServedMethod = {
  /** Such as `parley.quota.v1.QuotaService/Reserve`. */
  name: string;
  definition: GrpcMethod;
  /** Serves one call: sends the responses of a stream, or returns a unary call's response. Throws only RpcError. */
  serve: (context: CallContext, send: SendResponse) => Promise<Message | undefined>;
};

/** Serves `implementation` on a grpc-js server. Returns the service's methods, so that another transport can serve them too. */
export function implementService<S extends DescService>(
  server: Server,
  service: S,
  implementation: ServiceImplementation<S>,
  intercept: Interceptor,
): ServedMethod[] {
  const handlers = implementation as Record<string, unknown>;
  const methods = service.methods.map((method): [DescMethod, ServedMethod] => {
    const createServe = method.methodKind === "server_streaming" ? createStreamServe : createUnaryServe;
    const serve = withRpcErrors(createServe(method, handlers[method.localName] as never, intercept));
    return [method, { name: fullMethodName(method), definition: toMethodDefinition(method), serve }];
  });
  const grpcHandlers = methods.map(([{ name, methodKind }, served]): [string, UntypedHandleCall] => [
    name,
    methodKind === "server_streaming" ? createGrpcStreamHandler(served) : createGrpcUnaryHandler(served),
  ]);
  server.addService(toServiceDefinition(service), Object.fromEntries(grpcHandlers));
  return methods.map(([, served]) => served);
}

/** Throws invalid_argument, or the code that the rules name, if a request breaks the rules of its proto. */
export function requireValid(schema: DescMessage, request: Message): void {
  const invalid = findInvalidField(schema, request);
  if (invalid !== undefined) throw new RpcError(status.INVALID_ARGUMENT, invalid.code, invalid.message);
}

type Serve = ServedMethod["serve"];

function withRpcErrors(serve: Serve): Serve {
  return async (context, send) => {
    try {
      return await serve(context, send);
    } catch (error) {
      if (error instanceof RpcError) throw error;
      throw new RpcError(status.INTERNAL, "internal_error", "internal error", { cause: error });
    }
  };
}

type UnaryHandler = (request: Message, context: CallContext) => Promise<object>;

function createUnaryServe(method: DescMethod, handler: UnaryHandler, intercept: Interceptor): Serve {
  return async (context) => {
    let response: Message | undefined;
    await intercept(context, async () => {
      requireValid(method.input, context.request);
      response = create(method.output, (await handler(context.request, context)) as never) as Message;
    });
    return response;
  };
}

type StreamHandler = (request: Message, context: CallContext) => AsyncIterable<object>;

function createStreamServe(method: DescMethod, handler: StreamHandler, intercept: Interceptor): Serve {
  return async (context, send) => {
    await intercept(context, async () => {
      requireValid(method.input, context.request);
      for await (const item of handler(context.request, context)) {
        if (context.signal.aborted) return;
        // Backpressure: waits until the caller has read earlier responses.
        const drained = send(create(method.output, item as never) as Message);
        if (drained) await drained;
      }
    });
    return undefined;
  };
}

function createCallContext(
  method: string,
  call: ServerUnaryCall<Message, Message> | ServerWritableStream<Message, Message>,
): CallContext {
  const controller = new AbortController();
  // grpc-js emits "cancelled" at the end of every call.
  call.on("cancelled", () => controller.abort(CALL_CANCELLED));
  return { method, signal: controller.signal, metadata: call.metadata, request: call.request };
}

function createGrpcUnaryHandler({ name, serve }: ServedMethod) {
  return (call: ServerUnaryCall<Message, Message>, callback: sendUnaryData<Message>) => {
    serve(createCallContext(name, call), () => undefined).then(
      (response) => callback(null, response),
      (error: RpcError) => callback(error.toStatus()),
    );
  };
}

function createGrpcStreamHandler({ name, serve }: ServedMethod) {
  return (call: ServerWritableStream<Message, Message>) => {
    const context = createCallContext(name, call);
    const send = (response: Message) => (call.write(response) ? undefined : waitForDrain(call, context.signal));
    serve(context, send).then(
      () => call.end(),
      (error: RpcError) => call.emit("error", error.toStatus()),
    );
  };
}

async function waitForDrain(call: ServerWritableStream<Message, Message>, signal: AbortSignal): Promise<void> {
  try {
    await once(call, "drain", { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
