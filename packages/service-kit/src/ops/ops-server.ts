import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { DescMethod, Message } from "@bufbuild/protobuf";
import {
  type Code,
  ConnectError,
  type ConnectRouter,
  type HandlerContext,
  type Interceptor,
} from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { CODE_METADATA_KEY, type RpcError, requireValid } from "@parley/rpc";
import { Registry } from "prom-client";
import type { AuditLog } from "../audit-log/audit-log.admin.ts";
import { createTokenVerifier, type TokenVerifier } from "../auth/access-token.ts";
import { adminCallerOf, createAdminGuard } from "../auth/admin-access.ts";
import { createJwks } from "../auth/jwks.ts";
import type { JwtSettings } from "../auth/settings.ts";
import { keepWorkspace, runForWorkspace } from "../database/shard-limit.ts";
import type { Shard } from "../database/shards.ts";
import { type CallErrorLog, createCallErrorLog, toRpcError } from "../grpc/call-errors.ts";
import { type DeclaredBody, MemberCallLimiter } from "../limiters/member-call-limiter.ts";
import type { Lifecycle } from "../process/lifecycle.ts";
import type { Logger } from "../process/logger.ts";
import type { Tokens } from "../settings/tokens.ts";
import { currentTracer } from "../tracing/tracer.ts";
import { BODY_OPTIONS } from "./admin-bodies.ts";
import { renderOpenMetrics } from "./metrics.ts";
import { createTlsServer } from "./ops-tls.ts";

export type OpsServerOptions = {
  host: string;
  port: number;
  /** A directory with `tls.crt` and `tls.key`. Without it the port serves plain HTTP. */
  tlsDir?: string | undefined;
  registry: Registry;
  /** Whether the service can do its work. Called for `/healthz/ready` only. */
  isReady: () => boolean | Promise<boolean>;
  admin?: AdminOptions;
};

/** The admin RPC services and who may call them. */
export type AdminOptions = {
  /** The operator's tokens. */
  tokens: Tokens;
  /** How to verify the access tokens of workspaces' members. If undefined, only the operator may call the admin services. */
  jwt: JwtSettings | undefined;
  /** The audit log. Required if a method changes something. */
  auditLog?: AuditLog;
  /** Whether a workspace is deleted. See AdminAccessOptions. */
  isDeleted?: (workspaceId: string) => Promise<boolean>;
  /** The shards of the database, if the service has one. With several, the calls divide the connections between their workspaces' shards. */
  shards?: readonly Shard[];
  register: (router: ConnectRouter) => void;
};

/** Serves `/metrics`, `/healthz/live` and `/healthz/ready` to everyone, and `options.admin` to authorized callers. */
export async function startOpsServer(options: OpsServerOptions, log: Logger, lifecycle: Lifecycle): Promise<void> {
  // A stopping service is not ready, so that it gets no new calls while it finishes those in flight.
  const isReady = () => !lifecycle.isClosing && options.isReady();
  const { admin, tlsDir } = options;
  const server = tlsDir === undefined ? createServer() : createTlsServer({ tlsDir }, log, lifecycle);
  server.on(
    "request",
    connectNodeAdapter({
      ...(admin === undefined ? { routes: () => undefined } : createAdminHandlerOptions(admin, log, lifecycle)),
      ...BODY_OPTIONS,
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

const READ_METHODS = ["GET", "HEAD"];

async function handleRequest(
  options: OpsServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
  log: Logger,
) {
  try {
    const { status, type, body } = await getPage(options, request);
    if (status !== 404 && !READ_METHODS.includes(request.method ?? ""))
      response
        .writeHead(405, { allow: READ_METHODS.join(", "), "content-type": "text/plain" })
        .end("method not allowed\n");
    else response.writeHead(status, { "content-type": type }).end(body);
  } catch (error) {
    log.error({ error }, "ops request failed");
    response.writeHead(500, { "content-type": "text/plain" }).end("internal error\n");
  }
}

type Page = { status: number; type: string; body: string };

async function getPage(options: OpsServerOptions, { url, headers }: IncomingMessage): Promise<Page> {
  switch (url ?? "/") {
    case "/metrics":
      return getMetrics(options.registry, headers.accept ?? "");
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

/**
 * Returns OpenMetrics if tracing is on and the scraper accepts that format, otherwise Prometheus' format. Exemplars, which contain trace ids,
 * need OpenMetrics.
 */
async function getMetrics(registry: Registry, accept: string): Promise<Page> {
  if (currentTracer() === undefined || !accept.includes("application/openmetrics-text"))
    return { status: 200, type: registry.contentType, body: await registry.metrics() };
  return { status: 200, type: Registry.OPENMETRICS_CONTENT_TYPE, body: await renderOpenMetrics(registry) };
}

function createAdminHandlerOptions(
  { tokens, jwt, auditLog, isDeleted, shards = [], register }: AdminOptions,
  log: Logger,
  lifecycle: Lifecycle,
) {
  const guard = createAdminGuard({
    tokens,
    verifyToken: jwt && startVerifier(jwt, log, lifecycle),
    auditLog,
    isDeleted,
  });
  const memberLimiter = new MemberCallLimiter();
  const logError = createCallErrorLog(log, "admin call");
  return {
    routes: register,
    // Runs before the body is read, so that an unauthorized caller's body uses no memory.
    requestGate: async (context: HandlerContext) => {
      try {
        await guard.authorize(context);
        const caller = adminCallerOf(context);
        if (caller !== "operator")
          await memberLimiter.enter(caller.workspaceId, declaredBodyOf(context), context.signal);
      } catch (error) {
        throw toConnectError(error, methodName(context), logError);
      }
    },
    interceptors: [
      createErrorInterceptor(logError),
      guard.interceptor,
      validateRequests,
      createWorkspaceInterceptor(shards),
    ],
  };
}

/** The headers that name the compression of a unary Connect request and of a Connect stream. */
const ENCODING_HEADERS = ["content-encoding", "connect-content-encoding"];

function declaredBodyOf({ requestHeader }: HandlerContext): DeclaredBody {
  const isCompressed = ENCODING_HEADERS.some((name) => (requestHeader.get(name) ?? "identity") !== "identity");
  return { contentLength: requestHeader.get("content-length"), isCompressed };
}

function startVerifier(jwt: JwtSettings, log: Logger, lifecycle: Lifecycle): TokenVerifier {
  const jwks = createJwks({ url: jwt.jwksUrl, now: () => performance.now() }, log);
  jwks.start();
  lifecycle.onClose("key set", () => jwks.stop());
  return createTokenVerifier(jwt, jwks);
}

function methodName({ method }: { method: DescMethod }): string {
  return `${method.parent.typeName}/${method.name}`;
}

/**
 * Converts an error to a ConnectError. Connect's codes are gRPC's status numbers. The ConnectError's metadata contains the stable error code, such
 * as `session_not_found`.
 */
function toConnectError(error: unknown, method: string, logError: CallErrorLog): ConnectError {
  if (error instanceof ConnectError) return error;
  const mapped: RpcError = toRpcError(error);
  logError(method, error, mapped);
  return new ConnectError(mapped.message, mapped.status as number as Code, { [CODE_METADATA_KEY]: mapped.code });
}

function createErrorInterceptor(logError: CallErrorLog): Interceptor {
  return (next) => async (request) => {
    const method = methodName(request);
    try {
      const response = await next(request);
      if (!response.stream) return response;
      const { message } = response;
      return { ...response, message: convertErrors(message, (error) => toConnectError(error, method, logError)) };
    } catch (error) {
      throw toConnectError(error, method, logError);
    }
  };
}

/** Checks each request against the rules of its proto. Runs after the guard, which sets the workspace of a member's request. */
const validateRequests: Interceptor = (next) => (request) => {
  if (request.stream) return next({ ...request, message: validateEach(request.method, request.message) });
  requireValid(request.method.input, request.message);
  return next(request);
};

/** The workspace of a stream of requests is not known before the handler reads it. */
function createWorkspaceInterceptor(shards: readonly Shard[]): Interceptor {
  return (next) => (request) => {
    if (request.stream) return next(request);
    return runForWorkspace({ shards }, request.message, async () => {
      const response = await next(request);
      return response.stream ? { ...response, message: keepWorkspace(response.message) } : response;
    });
  };
}

async function* validateEach<T extends Message>({ input }: DescMethod, messages: AsyncIterable<T>): AsyncGenerator<T> {
  for await (const message of messages) {
    requireValid(input, message);
    yield message;
  }
}

async function* convertErrors<T>(items: AsyncIterable<T>, convert: (error: unknown) => Error): AsyncGenerator<T> {
  try {
    yield* items;
  } catch (error) {
    throw convert(error);
  }
}
