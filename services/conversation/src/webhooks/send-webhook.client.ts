import { EgressError, type Logger } from "@parley/service-kit";
import type { GuardedSender } from "@parley/service-kit/egress";
import { Webhook } from "standardwebhooks";
import { parseRetryAfter } from "./retry-schedule.ts";
import type { Attempt } from "./webhook.ts";

const TIMEOUT_MS = 10_000;
const MAX_RESPONSE_BYTES = 1_024;

export type WebhookRequest = {
  url: string;
  /** The webhook-id, the same for every attempt. */
  id: string;
  body: string;
  /** Each of them signs. */
  secrets: readonly string[];
};

/** Makes one attempt to deliver a webhook, and returns its result. */
export async function sendWebhook(
  { sender, log, timeoutMs = TIMEOUT_MS }: { sender: GuardedSender; log: Pick<Logger, "info">; timeoutMs?: number },
  { url, id, body, secrets }: WebhookRequest,
): Promise<Attempt> {
  const startedAt = new Date();
  const startMs = performance.now();
  const finish = (result: Omit<Attempt, "startedAt" | "durationMs">): Attempt => ({
    ...result,
    startedAt,
    durationMs: Math.round(performance.now() - startMs),
  });
  const headers = {
    "content-type": "application/json",
    "user-agent": "Parley",
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(startedAt.getTime() / 1_000)),
    "webhook-signature": secrets.map((secret) => new Webhook(secret).sign(id, startedAt, body)).join(" "),
  };
  try {
    const response = await sender.post(url, { headers, body, timeoutMs, maxBytes: MAX_RESPONSE_BYTES });
    const { status } = response;
    const retryAfter = response.headers["retry-after"];
    const retryAfterSeconds = parseRetryAfter(typeof retryAfter === "string" ? retryAfter : undefined, Date.now());
    return finish({
      status,
      body: response.body.toString(),
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
      ...(status >= 300 && status < 400 && { error: "too_many_redirects" as const }),
    });
  } catch (error) {
    if (!(error instanceof EgressError)) throw error;
    // Without the path and the query, which may contain secrets.
    log.info({ host: new URL(url).host, code: error.code, detail: error.detail }, "webhook attempt failed");
    return finish({ error: error.code });
  }
}
