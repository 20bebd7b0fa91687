import { createLogger } from "@parley/service-kit";
import type { Policy } from "./rate-limiter.ts";
import { createRedisLimiter } from "./redis-limiter.client.ts";
import type { RedisSettings } from "./redis-settings.ts";

// Asks the limiter for one decision per element of `subjects`, with the Redis server in the arguments. Retries a request that gets no decision.
// Prints the number of allowed requests and the number of attempts without a decision, or "unavailable" if a request gets no decision within
// 3 s of the start. A test starts this file as a process, because Node.js reads NODE_EXTRA_CA_CERTS only when it starts.

const RETRY_TIMEOUT_MS = 3_000;

const { settings, policy, subjects } = JSON.parse(process.argv[2] ?? "") as {
  settings: RedisSettings;
  policy: Policy;
  subjects: string[];
};
const limiter = createRedisLimiter(settings, createLogger("test", "silent"));
const retryUntilMs = performance.now() + RETRY_TIMEOUT_MS;

let undecided = 0;

async function isAllowed(subject: string): Promise<boolean> {
  for (;;) {
    try {
      return (await limiter.take(policy, subject)).isAllowed;
    } catch (error) {
      undecided++;
      if (performance.now() > retryUntilMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

try {
  let allowed = 0;
  for (const subject of subjects) if (await isAllowed(subject)) allowed++;
  process.stdout.write(`${allowed} ${undecided}\n`);
} catch {
  process.stdout.write("unavailable\n");
} finally {
  limiter.close();
}
