import { connectRedis } from "./redis.client.ts";
import type { RedisSettings } from "./redis-settings.ts";

/** Longer than several attempts to connect, each of which may take a second. */
const READY_TIMEOUT_MS = 8_000;

/** Connects to Redis and runs a script, as the rate limiter does. Throws the latest error if that fails. */
export async function checkRedis(settings: RedisSettings): Promise<void> {
  const redis = connectRedis(settings);
  const { promise: ready, resolve, reject } = Promise.withResolvers<void>();
  let latest: Error | undefined;
  redis.on("error", (error: Error) => {
    // A silent server: the text of the timeout below is plainer than ioredis' own.
    if (error.message.startsWith("Socket timeout")) return;
    latest = innermostError(error);
    // Redis has answered, so another attempt would get the same error.
    if (latest.name === "ReplyError") reject(latest);
  });
  redis.once("ready", resolve);
  const timer = setTimeout(() => reject(latest ?? new Error("does not answer as a Redis server")), READY_TIMEOUT_MS);
  try {
    await ready;
    await redis.eval("return 1", 0);
  } finally {
    clearTimeout(timer);
    redis.disconnect();
  }
}

/** An error of a Redis Cluster contains that of the last node. */
function innermostError(error: Error): Error {
  const { lastNodeError } = error as { lastNodeError?: unknown };
  return lastNodeError instanceof Error ? lastNodeError : error;
}
