import { once } from "node:events";
import {
  create,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  fromBinary,
  type Message,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import type {
  Metadata,
  Server,
  ServerUnaryCall,
  ServerWritableStream,
  sendUnaryData,
  UntypedHandleCall,
} from "@grpc/grpc-js";
import { type CarriedMethod, carriedMethods } from "./carried/serve.ts";
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
export type Interceptor = ((context: CallContext, next: () => Promise<void>) => Promise<void>) & {
  /** Whether a caller of this metadata may open a stream for calls to share; everybody may unless it is given. */
  admits?: (metadata: Metadata) => boolean;
};

type Send = (response: Message) => Promise<unknown> | undefined;

/** Answers a call, the last response, and a unary call's only one, by its result. */
type Serve = (context: CallContext, send: Send) => Promise<Message | undefined>;

/** Serves `implementation` on a grpc-js server, also to calls that share a stream; `intercept` runs around each call. */
export function implementService<S extends DescService>(
  server: Server,
  service: S,
  implementation: ServiceImplementation<S>,
  intercept: Interceptor,
): void {
  const handlers = implementation as Record<string, unknown>;
  const carried = carriedMethods(server, intercept.admits ?? (() => true));
  const bound = service.methods.map((method): [string, UntypedHandleCall] => {
    const isStream = method.methodKind === "server_streaming";
    const serve = (isStream ? serveStream : serveUnary)(method, handlers[method.localName] as never, intercept);
    carried.set(nameOf(method), carriedHandler(method, serve));
    return [method.name, isStream ? streamHandler(method, serve) : unaryHandler(method, serve)];
  });
  server.addService(serviceDefinition(service), Object.fromEntries(bound));
}

function nameOf(method: DescMethod): string {
  return `${method.parent.typeName}/${method.name}`;
}

type UnaryHandler = (request: Message, context: CallContext) => Promise<object>;

function serveUnary(method: DescMethod, handler: UnaryHandler, intercept: Interceptor): Serve {
  return async (context) => {
    let response: Message | undefined;
    await intercept(context, async () => {
      response = create(method.output, (await handler(context.request, context)) as never) as Message;
    });
    return response;
  };
}

type StreamHandler = (request: Message, context: CallContext) => AsyncIterable<object>;

function serveStream(method: DescMethod, handler: StreamHandler, intercept: Interceptor): Serve {
  return async (context, send) => {
    await intercept(context, async () => {
      for await (const item of handler(context.request, context)) {
        if (context.signal.aborted) return;
        // A peer that does not read must not make us buffer.
        const room = send(create(method.output, item as never) as Message);
        if (room) await room;
      }
    });
    return undefined;
  };
}

// grpc-js says "cancelled" at the end of every call, so the reason is made once, not a DOMException with its stack a call.
const LEFT = new RpcError(status.CANCELLED, "cancelled", "the caller went away");

function contextOf(
  method: DescMethod,
  call: ServerUnaryCall<Message, Message> | ServerWritableStream<Message, Message>,
): CallContext {
  const controller = new AbortController();
  call.on("cancelled", () => controller.abort(LEFT));
  return { method: nameOf(method), signal: controller.signal, metadata: call.metadata, request: call.request };
}

function asRpcError(error: unknown): RpcError {
  if (error instanceof RpcError) return error;
  return new RpcError(status.INTERNAL, "internal_error", "internal error", { cause: error });
}

function unaryHandler(method: DescMethod, serve: Serve) {
  return (call: ServerUnaryCall<Message, Message>, callback: sendUnaryData<Message>) => {
    serve(contextOf(method, call), () => undefined).then(
      (response) => callback(null, response),
      (error: unknown) => callback(asRpcError(error).toStatus()),
    );
  };
}

function streamHandler(method: DescMethod, serve: Serve) {
  return (call: ServerWritableStream<Message, Message>) => {
    const context = contextOf(method, call);
    serve(context, (response) => (call.write(response) ? undefined : drained(call, context.signal))).then(
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

function carriedHandler(method: DescMethod, serve: Serve): CarriedMethod {
  return async (bytes, metadata, signal, send) => {
    try {
      const context = { method: nameOf(method), signal, metadata, request: fromBinary(method.input, bytes) };
      const last = await serve(context, (response) => send(toBinary(method.output, response)));
      return last && toBinary(method.output, last);
    } catch (error) {
      throw asRpcError(error);
    }
  };
}
