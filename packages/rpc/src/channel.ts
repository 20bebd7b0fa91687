import { ChannelCredentials, Client } from "@grpc/grpc-js";

export type Channel = Client;

export type ChannelOptions = {
  /** Where the peer is: `host:port`, or a gRPC target such as `dns:///conversation:9000`. */
  target: string;
  /** Fully qualified methods (`package.Service/Method`) that may be sent again when the peer was away. */
  retryable: readonly { service: string; method: string }[];
  /** Plain text unless given. */
  credentials?: ChannelCredentials;
};

// Together below 15 s. The answer gets the larger part: a peer that is busy for some seconds is not away.
const KEEPALIVE_MS = 5_000;
const KEEPALIVE_TIMEOUT_MS = 9_000;
/**
 * What an HTTP/2 stream may have under way to us that nobody has asked for yet. Calls that share one have windows of their own within it;
 * one that goes by itself and whose reader is slow waits at its sender.
 */
const FLOW_CONTROL_WINDOW_BYTES = 64 * 1024;
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/**
 * Opens a channel that balances over every address of its target, gives a silent peer up within 15 s
 * (keepalive, grpc-js#2785), and comes back within a second of the peer.
 */
export function openChannel(options: ChannelOptions): Channel {
  const serviceConfig = {
    loadBalancingConfig: [{ round_robin: {} }],
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
    "grpc.service_config": JSON.stringify(serviceConfig),
    "grpc.keepalive_time_ms": KEEPALIVE_MS,
    "grpc.keepalive_timeout_ms": KEEPALIVE_TIMEOUT_MS,
    "grpc.keepalive_permit_without_calls": 1,
    "grpc-node.flow_control_window": FLOW_CONTROL_WINDOW_BYTES,
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.min_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 1_000,
    "grpc.dns_min_time_between_resolutions_ms": 1_000,
    "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
    "grpc.max_send_message_length": MAX_MESSAGE_BYTES,
  });
}
