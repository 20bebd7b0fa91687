import type { DescService } from "@bufbuild/protobuf";
import { type Metadata, Server } from "@grpc/grpc-js";
import {
  type Interceptor,
  implementService,
  RpcError,
  type ServedMethod,
  type ServiceImplementation,
  status,
} from "@parley/rpc";
import { serveMultiplexed } from "@parley/rpc-multiplex";
import { HealthImplementation } from "grpc-health-check";
import type { Histogram } from "prom-client";
import { failpoint } from "../failpoint.ts";
import type { Lifecycle } from "../process/lifecycle.ts";
import type { Logger } from "../process/logger.ts";
import type { Tokens } from "../settings/tokens.ts";
import { openServerSpan } from "../tracing/calls.ts";
import type { Span } from "../tracing/tracer.ts";
import { createCallErrorLog, toRpcError } from "./call-errors.ts";
import { CONNECTION_GRACE_MS } from "./call-limits.ts";
import { serverCredentials } from "./grpc-tls.ts";

export type GrpcServerOptions = {
  host: string;
  port: number;
  /** How long calls in flight may continue after shutdown begins. */
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
  /** Adds a service, for plain and multiplexed calls. Call it before `listen`. All services of a server have the same `isAuthorized`. */
  serve<S extends DescService>(service: S, implementation: ServiceImplementation<S>, guard: CallGuard): void;
  /** Binds the port, then reports SERVING. */
  listen(): Promise<void>;
};

// Clients resolve the server's addresses again only when a connection ends (grpc-node#2455), so connections end after this time.
const MAX_CONNECTION_AGE_MS = 30_000;

/** Creates a grpc-js server with the standard health service. */
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
  const methods: ServedMethod[] = [];
  let isStreamAuthorized: CallGuard["isAuthorized"] = () => false;
  return {
    serve(service, implementation, { intercept, isAuthorized }) {
      methods.push(...implementService(server, service, implementation, intercept));
      isStreamAuthorized = isAuthorized;
    },
    async listen() {
      serveMultiplexed(server, methods, isStreamAuthorized);
      await new Promise<void>((resolve, reject) => {
        server.bindAsync(`${options.host}:${options.port}`, credentials, (error) =>
          error ? reject(error) : resolve(),
        );
      });
      health.setStatus("", "SERVING");
      // The timeout is a second longer than the drain, so that the drain ends first.
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

/**
 * Creates a guard that refuses calls without an accepted internal token. The guard measures all calls, traces accepted calls, and maps errors to
 * a gRPC status and a stable code.
 */
export function createCallGuard(tokens: Tokens, durations: Histogram<"method" | "status">, log: Logger): CallGuard {
  const isAuthorized = (metadata: Metadata) => {
    const [authorization] = metadata.get("authorization");
    const isAccepted = tokens.accepts(authorization);
    // The logger writes repeated lines with the same reason only every 10 s.
    if (!isAccepted && tokens.name !== undefined)
      log.warn(
        { reason: authorization === undefined ? "token_missing" : "token_differs", variable: tokens.name },
        `call refused, the caller sent ${authorization === undefined ? "no" : "another"} ${tokens.name}`,
      );
    return isAccepted;
  };
  const logError = createCallErrorLog(log, "call");
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
      logError(context.method, error, mapped);
      throw mapped;
    } finally {
      span?.setAttributes({ "rpc.grpc.status_code": outcome });
      span?.end(outcome === status.OK ? undefined : status[outcome]);
      durations.observe({ method: context.method, status: status[outcome] }, (performance.now() - startedAt) / 1_000);
    }
  };
  return { intercept, isAuthorized };
}
