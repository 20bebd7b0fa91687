import type { DescService } from "@bufbuild/protobuf";
import {
  type CallObserver,
  createClient,
  GrpcTransport,
  type MetadataWriter,
  openChannel,
  type RpcClient,
  status,
} from "@parley/rpc";
import { MultiplexClient } from "@parley/rpc-multiplex";
import type { Counter } from "prom-client";
import { startAtZero } from "../ops/metrics.ts";
import type { Lifecycle } from "../process/lifecycle.ts";
import type { Environment } from "../settings/environment.ts";
import type { Tokens } from "../settings/tokens.ts";
import { createCallTracer } from "../tracing/calls.ts";
import { channelCredentials } from "./grpc-tls.ts";

export type PeerOptions = {
  /** `host:port`, or a gRPC target such as `dns:///quota-headless:9000`. */
  target: string;
  internalTokens: Tokens;
  /** The directory with this service's certificate and key, and the CA's certificate. Without it, the channel uses plain text. */
  tlsDir?: string | undefined;
  /** Counts failed calls. */
  failures?: Counter<"method" | "status">;
  /** Whether unary calls are multiplexed (see @parley/rpc-multiplex); true by default. */
  isMultiplexed?: boolean;
  /** Whether streamed responses are multiplexed too; false by default. Suits a service whose streams carry small messages at a low rate. */
  multiplexesStreams?: boolean;
};

/** MultiplexClient retries these methods even if its retry budget is spent, because a turn's outcome or a lease depends on them. */
const ALWAYS_RETRIED: ReadonlySet<string> = new Set([
  "/parley.conversation.v1.ConversationService/CloseTurn",
  "/parley.conversation.v1.ConversationService/RenewEdge",
  "/parley.quota.v1.QuotaService/Settle",
]);

/** Reads from RPC_MULTIPLEX whether this service multiplexes its calls to its peers. */
export function readRpcMultiplex(environment: Environment): boolean {
  return environment.oneOf("RPC_MULTIPLEX", ["on", "off"], "on") === "on";
}

/** The statuses that Parley's services and gRPC itself return. */
const FAILURE_STATUSES = [
  "CANCELLED",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "INTERNAL",
  "UNAVAILABLE",
  "UNAUTHENTICATED",
] as const satisfies (keyof typeof status)[];

/** Returns a client of another service. It retries unary calls if the peer is unavailable, so every unary method must be idempotent. */
export function connectPeer<S extends DescService>(
  service: S,
  options: PeerOptions,
  lifecycle: Lifecycle,
): RpcClient<S> {
  const { target, internalTokens, tlsDir, failures, isMultiplexed = true, multiplexesStreams = false } = options;
  const unary = service.methods.filter((method) => method.methodKind === "unary");
  const channel = openChannel({
    target,
    credentials: channelCredentials(tlsDir),
    retryable: unary.map((method) => ({ service: service.typeName, method: method.name })),
  });
  if (failures !== undefined) {
    const methods = service.methods.map((method) => `${service.typeName}/${method.name}`);
    startAtZero(failures, { method: methods, status: FAILURE_STATUSES });
  }
  lifecycle.onClose(`channel to ${service.typeName}`, () => channel.close());
  const writeMetadata: MetadataWriter = (metadata) => metadata.set("authorization", internalTokens.authorization());
  const grpc = new GrpcTransport(channel, writeMetadata);
  const transport = isMultiplexed
    ? new MultiplexClient(channel, {
        fallback: grpc,
        writeMetadata,
        multiplexesStreams,
        alwaysRetried: ALWAYS_RETRIED,
      })
    : grpc;
  return createClient(service, transport, observeCalls(failures));
}

function observeCalls(failures: PeerOptions["failures"]): CallObserver {
  const trace = createCallTracer();
  return (method, metadata) => {
    const endSpan = trace?.(method, metadata);
    return (error) => {
      endSpan?.(error);
      if (error) failures?.inc({ method, status: status[error.status] });
    };
  };
}
