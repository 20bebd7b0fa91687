import { timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Code, ConnectError, type ConnectRouter, type HandlerContext, type Interceptor } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { CODE_METADATA_KEY, type RpcError } from "@parley/rpc";
import type { Registry } from "prom-client";
import { toRpcError } from "./grpc-server.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { Logger } from "./logger.ts";
import { createTlsServer } from "./ops-tls.ts";

/** Fits the largest request, a document of 16 MiB as base64 in JSON. Also limits a compressed body after decompression. */
const MAX_BODY_BYTES = 24 * 1024 * 1024;

export type OpsServerOptions = {
  host: string;
  port: number;
  /** A directory with `tls.crt` and `tls.key`. Without it the port serves plain HTTP. */
  tlsDir?: string | undefined;
  registry: Registry;
  /** Whether the service can do its work. The liveness probe never calls it. */
  isReady: () => boolean | Promise<boolean>;
  /** The service's admin services, and the token that their callers send. */
  admin?: { token: string; register: (router: ConnectRouter) => void };
};

/** Starts the ops port: `/metrics`, `/healthz/live`, `/healthz/ready`, and the admin services, if there are any, behind the admin token. */
export async function startOpsServer(options: OpsServerOptions, log: Logger, lifecycle: Lifecycle): Promise<void> {
  // A stopping service is not ready, so that load balancers stop sending it calls while it finishes those in flight.
  const isReady = () => !lifecycle.isClosing && options.isReady();
  const { admin, tlsDir } = options;
  const server = tlsDir === undefined ? createServer() : createTlsServer({ tlsDir }, log, lifecycle);
  server.on(
    "request",
    connectNodeAdapter({
      routes: (router) => admin?.register(router),
      // Runs before the body is read, so that a caller without the token uses no memory.
      ...(admin && { requestGate: requireToken(admin.token) }),
      readMaxBytes: MAX_BODY_BYTES,
      interceptors: [mapErrors(log)],
      // The casts hold because the server is of node:http, not node:http2.
      fallback: (request, response) =>
        void handleRequest({ ...options, isReady }, request as IncomingMessage, response as ServerResponse, log),
    }),
  );
  server.requestTimeout = 60_000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, resolve);
  });
  lifecycle.onClose("ops server", () => {
    server.close();
    server.closeAllConnections();
  });
}

async function handleRequest(
  options: OpsServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
  log: Logger,
) {
  try {
    const { status, type, body } = await getPage(options, request.url ?? "/");
    response.writeHead(status, { "content-type": type }).end(body);
  } catch (error) {
    log.error({ error }, "ops request failed");
    response.writeHead(500, { "content-type": "text/plain" }).end("internal error\n");
  }
}

async function getPage(
  options: OpsServerOptions,
  path: string,
): Promise<{ status: number; type: string; body: string }> {
  switch (path) {
    case "/metrics":
      return { status: 200, type: options.registry.contentType, body: await options.registry.metrics() };
    case "/healthz/live":
      return { status: 200, type: "text/plain", body: "live\n" };
    case "/healthz/ready": {
      const isReady = await options.isReady();
      return { status: isReady ? 200 : 503, type: "text/plain", body: isReady ? "ready\n" : "not ready\n" };
    }
    default:
      return { status: 404, type: "text/plain", body: "not found\n" };
  }
}

function requireToken(adminToken: string): (context: HandlerContext) => void {
  const expected = Buffer.from(`Bearer ${adminToken}`);
  return ({ requestHeader }) => {
    const received = Buffer.from(requestHeader.get("authorization") ?? "");
    if (received.length !== expected.length || !timingSafeEqual(received, expected)) {
      throw new ConnectError(
        "admin token missing or wrong: send Authorization: Bearer <ADMIN_TOKEN>",
        Code.Unauthenticated,
      );
    }
  };
}

// gRPC and Connect use the same status numbers. The stable code is sent in a header, as in a gRPC trailer.
function mapErrors(log: Logger): Interceptor {
  const convert = (error: unknown, method: string) => {
    if (error instanceof ConnectError) return error;
    const mapped: RpcError = toRpcError(error);
    if (mapped.code === "internal_error") log.error({ method, error }, "admin call failed");
    return new ConnectError(mapped.message, mapped.status as number as Code, { [CODE_METADATA_KEY]: mapped.code });
  };
  return (next) => async (request) => {
    const method = `${request.service.typeName}/${request.method.name}`;
    try {
      const response = await next(request);
      if (!response.stream) return response;
      const { message } = response;
      return { ...response, message: convertErrors(message, (error) => convert(error, method)) };
    } catch (error) {
      throw convert(error, method);
    }
  };
}

async function* convertErrors<T>(items: AsyncIterable<T>, convert: (error: unknown) => Error): AsyncGenerator<T> {
  try {
    yield* items;
  } catch (error) {
    throw convert(error);
  }
}
