import { createLogger } from "@parley/service-kit";
import type { Policy } from "./rate-limiter.ts";
import { createRedisLimiter } from "./redis-limiter.client.ts";
import type { RedisSettings } from "./redis-settings.ts";

// A test starts this file as a process, because Node.js reads NODE_EXTRA_CA_CERTS only when it starts. The process asks the limiter for one
// decision per element of `subjects`, and retries failed attempts. It prints the number of elements that the limiter allowed and the number of
// failed attempts, or "unavailable" if an attempt fails later than 3 s after the start.

const RETRY_TIMEOUT_MS = 3_000;

const { settings, policy, subjects } = JSON.parse(process.argv[2] ?? "") as {
  settings: RedisSettings;
  policy: Policy;
  subjects: string[];
};
const limiter = createRedisLimiter(settings, createLogger("test", "silent"));
const retryUntilMs = performance.now() + RETRY_TIMEOUT_MS;

let failedAttempts = 0;

async function isAllowed(subject: string): Promise<boolean> {
  for (;;) {
    try {
      return (await limiter.take(policy, subject)).refusedBucket === undefined;
    } catch (error) {
      failedAttempts++;
      if (performance.now() > retryUntilMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

try {
  let allowed = 0;
  for (const subject of subjects) if (await isAllowed(subject)) allowed++;
  process.stdout.write(`${allowed} ${failedAttempts}\n`);
} catch {
  process.stdout.write("unavailable\n");
} finally {
  limiter.close();
}
