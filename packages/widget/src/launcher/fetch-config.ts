import type { BotConfig } from "../shared/types.ts";

const TIMEOUT_MS = 10_000;
const FIRST_BACKOFF_MS = 2_000;
const MAX_ATTEMPTS = 7;

/**
 * Retries after a network error, an incomplete response, 429 and 5xx, with the delay of Retry-After or else an
 * exponential backoff. On abort, throws the signal's reason. On failure, throws an Error whose message is one of: the
 * service's code, such as `origin_not_allowed`; the status of a response without a code; `network`.
 */
export async function fetchConfig(base: string, publicKey: string, signal: AbortSignal): Promise<BotConfig> {
  const url = `${base}api/widget/config/?public_key=${encodeURIComponent(publicKey)}`;
  for (let attempt = 1; ; attempt++) {
    let backoffMs = FIRST_BACKOFF_MS * 2 ** (attempt - 1);
    let code = "network";
    let canRetry = attempt < MAX_ATTEMPTS;
    try {
      const response = await fetch(url, {
        credentials: "omit",
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
      const body = (await response.json().catch(() => ({}))) as { bot?: BotConfig; error?: string };
      if (body.bot) {
        return body.bot;
      }
      code = body.error ?? String(response.status);
      backoffMs = Number(response.headers.get("retry-after")) * 1000 || backoffMs;
      canRetry &&= response.ok || response.status === 429 || response.status >= 500;
    } catch {
      signal.throwIfAborted();
    }
    if (!canRetry) {
      throw new Error(code);
    }
    await new Promise((resolve) => setTimeout(resolve, backoffMs));
    signal.throwIfAborted();
  }
}
