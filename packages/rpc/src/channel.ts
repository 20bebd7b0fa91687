import { ChannelCredentials, Client } from "@grpc/grpc-js";
import { registerNamesResolver } from "./names-resolver.ts";

registerNamesResolver();

export type Channel = Client;

export type ChannelOptions = {
  /** The peer's address: `host:port`, or a gRPC target such as `dns:///conversation:9000`. For `names:///…` see names-resolver.ts. */
  target: string;
  /** The methods that gRPC may retry when the peer is unavailable. Each must be idempotent. */
  retryable: readonly { service: string; method: string }[];
  /** Plain text unless given. */
  credentials?: ChannelCredentials;
  /** The name that the peer's certificate must have; the target's host unless given. */
  tlsServerName?: string | undefined;
};

// Keepalive detects a dead peer within KEEPALIVE_MS + KEEPALIVE_TIMEOUT_MS. This sum must stay below 15 s (grpc-js#2785). The timeout is the
// longer part, because a live peer can be busy for some seconds.
const KEEPALIVE_MS = 5_000;
const KEEPALIVE_TIMEOUT_MS = 9_000;
/** How many unread bytes a peer may send on one HTTP/2 stream before it must pause. */
const HTTP2_STREAM_WINDOW_BYTES = 64 * 1024;
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/**
 * Opens a channel that balances its calls over every address of the target. It reconnects within 1.2 s of the peer's return: the longest
 * backoff of 1 s plus grpc-js's jitter of a fifth.
 */
export function openChannel(options: ChannelOptions): Channel {
  const serviceConfig = {
    loadBalancingConfig: [{ round_robin: {} }],
    // gRPC retries while more than half of `maxTokens` are left. A failed attempt costs one token and a successful call adds `tokenRatio`.
    // All methods of the channel share this budget. It does not limit the retries of MultiplexClient, or of the callers of CloseTurn,
    // Settle and RenewEdge.
    retryThrottling: { maxTokens: 100, tokenRatio: 0.1 },
    methodConfig: [
      {
        name: options.retryable,
        retryPolicy: {
          maxAttempts: 3,
          initialBackoff: "0.05s",
          maxBackoff: "0.4s",
          backoffMultiplier: 2,
          retryableStatusCodes: ["UNAVAILABLE"],
        },
      },
    ],
  };
  return new Client(options.target, options.credentials ?? ChannelCredentials.createInsecure(), {
    ...(options.tlsServerName !== undefined && { "grpc.ssl_target_name_override": options.tlsServerName }),
    "grpc.service_config": JSON.stringify(serviceConfig),
    // HTTP_PROXY is for requests that leave the cluster.
    "grpc.enable_http_proxy": 0,
    "grpc.keepalive_time_ms": KEEPALIVE_MS,
    "grpc.keepalive_timeout_ms": KEEPALIVE_TIMEOUT_MS,
    "grpc.keepalive_permit_without_calls": 1,
    "grpc-node.flow_control_window": HTTP2_STREAM_WINDOW_BYTES,
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.min_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 1_000,
    "grpc.dns_min_time_between_resolutions_ms": 1_000,
    "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
    "grpc.max_send_message_length": MAX_MESSAGE_BYTES,
  });
}
