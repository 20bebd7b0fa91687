import type { DescService } from "@bufbuild/protobuf";
import {
  type CallObserver,
  type Channel,
  createClient,
  openChannel,
  type RpcClient,
  type Sharing,
  status,
} from "@parley/rpc";
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
  /** "all" for a service whose streams are of small messages that come slowly; its unary calls share streams in any case. */
  sharing?: Exclude<Sharing, "none">;
};

/** A client of a data-plane service, closed with the process. Unary calls are retried when the peer is away: all are idempotent. */
export function connectPeer<S extends DescService>(
  service: S,
  options: PeerOptions,
  lifecycle: Lifecycle,
): RpcClient<S> {
  const { sharing = "unary" } = options;
  const unary = service.methods.filter((method) => method.methodKind === "unary");
  const channel: Channel = openChannel({
    target: options.target,
    credentials: channelCredentials(options.tlsDir),
    retryable: unary.map((method) => ({ service: service.typeName, method: method.name })),
  });
  lifecycle.onClose(`channel to ${service.typeName}`, () => channel.close());
  const bearer = `Bearer ${options.internalToken}`;
  const trace = callObserver();
  const observe: CallObserver = (method, metadata) => {
    const ended = trace?.(method, metadata);
    return (error) => {
      ended?.(error);
      if (error) options.failures?.inc({ method, status: status[error.status] });
    };
  };
  return createClient(service, channel, (metadata) => metadata.set("authorization", bearer), { observe, sharing });
}
