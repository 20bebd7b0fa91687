import type { Cluster, Redis } from "ioredis";
import type { LiveSignal } from "../turns/index.ts";
import { type LiveBus, LocalLiveBus } from "./live-bus.ts";

const CHANNEL = "parley:live";

export type RedisLiveBus = LiveBus & {
  /** Replaces the connection that receives signals. */
  reconnect(subscriber: Redis | Cluster): void;
  close(): void;
};

/**
 * Creates a bus of all edges that share the Redis. All edges subscribe to one channel, because signals are few: one for each message of or to a
 * person. Without Redis, it reaches this process only.
 * @param publisher returns the current connection for commands, which the rate limiter shares.
 * @param subscriber a connection for nothing else.
 */
export function createRedisLiveBus(publisher: () => Redis | Cluster, subscriber: Redis | Cluster): RedisLiveBus {
  const local = new LocalLiveBus();
  let current = subscriber;
  let isSubscribed = false;

  function listen(connection: Redis | Cluster): void {
    connection.on("ready", () => {
      connection.subscribe(CHANNEL).then(
        () => {
          isSubscribed = connection === current;
        },
        // The connection was lost again: the next one subscribes.
        () => undefined,
      );
    });
    connection.on("close", () => {
      if (connection !== current || !isSubscribed) return;
      isSubscribed = false;
      // The readers poll more often from now on.
      local.wake();
    });
    // The limiter's connection to the same Redis logs outages.
    connection.on("error", () => undefined);
    connection.on("message", (_channel: string, text: string) => {
      if (connection === current) local.publish(JSON.parse(text) as LiveSignal);
    });
  }
  listen(subscriber);

  return {
    publish(signal) {
      const redis = publisher();
      const isReady = redis.status === "ready";
      // If this process is subscribed, Redis returns the signal to it too.
      if (!isReady || !isSubscribed) local.publish(signal);
      if (isReady) redis.publish(CHANNEL, JSON.stringify(signal)).catch(() => local.publish(signal));
    },
    subscribe: (target, listener) => local.subscribe(target, listener),
    isShared: () => isSubscribed,
    reconnect(replacement) {
      const previous = current;
      isSubscribed = false;
      current = replacement;
      listen(replacement);
      previous.disconnect();
    },
    close: () => current.disconnect(),
  };
}
