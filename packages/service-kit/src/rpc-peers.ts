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
import { channelCredentials } from "./grpc-tls.ts";
import type { Lifecycle } from "./lifecycle.ts";
import { callObserver } from "./tracing/calls.ts";

export type PeerOptions = {
  /** `host:port`, or a gRPC target such as `dns:///quota-headless:9000`. */
  target: string;
  internalToken: string;
  /** Where our certificate, key and authority lie; plain text without. */
  tlsDir?: string | undefined;
  /** Counts the calls that fail. */
  failures?: Counter<"method" | "status">;
  /** Also multiplexes streamed responses. For a service whose streams carry small messages at a low rate. */
  multiplexesStreams?: boolean;
};

/** A client of a data-plane service, closed with the process. Unary calls are retried when the peer is away: all are idempotent. */
export function connectPeer<S extends DescService>(
  service: S,
  options: PeerOptions,
  lifecycle: Lifecycle,
): RpcClient<S> {
  const unary = service.methods.filter((method) => method.methodKind === "unary");
  const channel = openChannel({
    target: options.target,
    credentials: channelCredentials(options.tlsDir),
    retryable: unary.map((method) => ({ service: service.typeName, method: method.name })),
  });
  lifecycle.onClose(`channel to ${service.typeName}`, () => channel.close());
  const writeMetadata: MetadataWriter = (metadata) => metadata.set("authorization", `Bearer ${options.internalToken}`);
  const fallback = new GrpcTransport(channel, writeMetadata);
  const includesStreams = options.multiplexesStreams ?? false;
  const transport = new MultiplexClient(channel, { fallback, writeMetadata, includesStreams });
  const trace = callObserver();
  const observe: CallObserver = (method, metadata) => {
    const ended = trace?.(method, metadata);
    return (error) => {
      ended?.(error);
      if (error) options.failures?.inc({ method, status: status[error.status] });
    };
  };
  return createClient(service, transport, observe);
}
