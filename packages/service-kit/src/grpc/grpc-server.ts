import type { DescService } from "@bufbuild/protobuf";
import { type Metadata, Server } from "@grpc/grpc-js";
import {
  CALL_CANCELLED,
  type Interceptor,
  implementService,
  RpcError,
  type ServiceImplementation,
  status,
} from "@parley/rpc";
import { serveMultiplexed } from "@parley/rpc-multiplex";
import { HealthImplementation } from "grpc-health-check";
import type { Histogram } from "prom-client";
import { type ErrorKind, ServiceError } from "../errors.ts";
import { failpoint } from "../failpoint.ts";
import type { Lifecycle } from "../process/lifecycle.ts";
import type { Logger } from "../process/logger.ts";
import type { Tokens } from "../settings/tokens.ts";
import { openServerSpan } from "../tracing/calls.ts";
import type { Span } from "../tracing/tracer.ts";
import { CONNECTION_GRACE_MS } from "./call-limits.ts";
import { serverCredentials } from "./grpc-tls.ts";

export type GrpcServerOptions = {
  host: string;
  port: number;
  /** How long calls in flight may continue after the service starts to stop. */
  drainMs: number;
  /** The directory with the server's certificate, its key and the authority's certificate. Without it, the server uses plain text. */
  tlsDir?: string | undefined;
};

/** Intercepts every call of a service, and decides whether a multiplexed stream is accepted. */
export type CallGuard = {
  intercept: Interceptor;
  /** Returns whether the metadata contains an accepted internal token. */
  isAuthorized: (metadata: Metadata) => boolean;
};

export type GrpcServer = {
  /** Adds a service, for plain and multiplexed calls. Call it once per server, before `listen`. */
  serve<S extends DescService>(service: S, implementation: ServiceImplementation<S>, guard: CallGuard): void;
  /** Binds the port, then reports SERVING. */
  listen(): Promise<void>;
};

const STATUS_BY_KIND: Record<ErrorKind, status> = {
  invalid_argument: status.INVALID_ARGUMENT,
  unauthenticated: status.UNAUTHENTICATED,
  permission_denied: status.PERMISSION_DENIED,
  not_found: status.NOT_FOUND,
  already_exists: status.ALREADY_EXISTS,
  failed_precondition: status.FAILED_PRECONDITION,
  resource_exhausted: status.RESOURCE_EXHAUSTED,
  unavailable: status.UNAVAILABLE,
};

// Clients resolve the peer's addresses again only when a connection ends (grpc-node#2455), so connections end after this time.
const MAX_CONNECTION_AGE_MS = 30_000;

/** Creates a grpc-js server with the standard health service. When the service stops, the server waits up to `drainMs` for its calls. */
export function createGrpcServer(options: GrpcServerOptions, lifecycle: Lifecycle): GrpcServer {
  const server = new Server({
    "grpc.keepalive_time_ms": 5_000,
    "grpc.keepalive_timeout_ms": 9_000,
    "grpc.max_connection_age_ms": MAX_CONNECTION_AGE_MS,
    "grpc.max_connection_age_grace_ms": CONNECTION_GRACE_MS,
    "grpc.max_receive_message_length": 16 * 1024 * 1024,
  });
  const health = new HealthImplementation({ "": "NOT_SERVING" });
  health.addToServer(server);
  const credentials = serverCredentials(options.tlsDir);
  return {
    serve(service, implementation, { intercept, isAuthorized }) {
      serveMultiplexed(server, implementService(server, service, implementation, intercept), isAuthorized);
    },
    async listen() {
      await new Promise<void>((resolve, reject) => {
        server.bindAsync(`${options.host}:${options.port}`, credentials, (error) =>
          error ? reject(error) : resolve(),
        );
      });
      health.setStatus("", "SERVING");
      // The extra second lets the drain end by itself.
      lifecycle.onClose("grpc server", () => drain(server, health, options.drainMs), options.drainMs + 1_000);
    },
  };
}

async function drain(server: Server, health: HealthImplementation, drainMs: number): Promise<void> {
  health.setStatus("", "NOT_SERVING");
  let timer: NodeJS.Timeout | undefined;
  await new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      server.forceShutdown();
      resolve();
    }, drainMs);
    server.tryShutdown(() => resolve());
  });
  clearTimeout(timer);
}

/** Refuses calls without an accepted internal token, measures and traces every call, and maps errors to a gRPC status and a stable code. */
export function createCallGuard(tokens: Tokens, durations: Histogram<"method" | "status">, log: Logger): CallGuard {
  const isAuthorized = (metadata: Metadata) => tokens.accepts(metadata.get("authorization")[0]);
  const intercept: Interceptor = async (context, next) => {
    const startedAt = performance.now();
    let outcome = status.OK;
    let span: Span | undefined;
    try {
      if (!isAuthorized(context.metadata))
        throw new RpcError(status.UNAUTHENTICATED, "unauthenticated", "internal token missing or wrong");
      failpoint(context.method, "before");
      // Opened after the token check, so that only our own services can add to a trace.
      span = openServerSpan(context);
      await (span === undefined ? next() : span.run(next));
      failpoint(context.method, "after");
    } catch (error) {
      const mapped = toRpcError(error, context.signal);
      outcome = mapped.status;
      if (mapped.status === status.INTERNAL) log.error({ method: context.method, error }, "call failed");
      throw mapped;
    } finally {
      span?.setAttributes({ "rpc.grpc.status_code": outcome });
      span?.end(outcome === status.OK ? undefined : status[outcome]);
      durations.observe({ method: context.method, status: status[outcome] }, (performance.now() - startedAt) / 1_000);
    }
  };
  return { intercept, isAuthorized };
}

/**
 * Converts an error to the RpcError that the caller receives. RpcError and ServiceError keep their code and message. Any other error becomes
 * CANCELLED, UNAVAILABLE or INTERNAL without its message.
 */
export function toRpcError(error: unknown, signal?: AbortSignal): RpcError {
  if (error instanceof RpcError) return error;
  if (error instanceof ServiceError) {
    return new RpcError(STATUS_BY_KIND[error.kind], error.code, error.message, { cause: error });
  }
  if (signal?.aborted)
    return new RpcError(CALL_CANCELLED.status, CALL_CANCELLED.code, CALL_CANCELLED.message, { cause: error });
  if (isTransient(error)) {
    return new RpcError(status.UNAVAILABLE, "unavailable", "the database is unavailable", { cause: error });
  }
  return new RpcError(status.INTERNAL, "internal_error", "internal error", { cause: error });
}

// SQLSTATE classes 08 (connection), 53 (resources) and 57P (shutdown); 57014 (statement timeout), 55P03 (lock timeout), 40P01 (deadlock) and
// 25006 (the server is read-only, e.g. a former primary); Node's network errors.
const TRANSIENT_CODES =
  /^(08|53|57P|57014$|55P03$|40P01$|25006$)|^E(CONNREFUSED|CONNRESET|PIPE|TIMEDOUT|HOSTUNREACH|NOTFOUND|AI_AGAIN)$/;

function isTransient(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  if (typeof code === "string" && TRANSIENT_CODES.test(code)) return true;
  // Errors of pg's pool and client, which have no code.
  return /Connection terminated|not queryable|timeout exceeded when trying to connect|Query read timeout/.test(
    error.message,
  );
}
