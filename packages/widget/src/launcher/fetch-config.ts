import type { BotConfig } from "../shared/types.ts";

const TIMEOUT_MS = 10_000;
const FIRST_BACKOFF_MS = 2_000;
const MAX_ATTEMPTS = 7;

/**
 * Retries after a network error, an incomplete response, 429 and 5xx, with the delay of Retry-After or else an
 * exponential backoff. After an abort, throws the signal's reason instead of sending a request. On failure, throws an Error whose message is one of: the
 * service's code, such as `origin_not_allowed`; the status of a response without a code; `network`.
 */
export async function fetchConfig(base: string, publicKey: string, signal: AbortSignal): Promise<BotConfig> {
  const url = `${base}api/widget/config/?public_key=${encodeURIComponent(publicKey)}`;
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    const response = await fetch(url, { credentials: "omit", signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(
      () => undefined,
    );
    const body = (await response?.json().catch(() => ({}))) as { bot?: BotConfig; error?: string } | undefined;
    if (body?.bot) {
      return body.bot;
    }
    const canRetry = !response || response.ok || response.status === 429 || response.status >= 500;
    if (!canRetry || attempt === MAX_ATTEMPTS) {
      throw new Error(`${body?.error ?? response?.status ?? "network"}`);
    }
    const retryAfterMs = Number(response?.headers.get("retry-after")) * 1000;
    await new Promise((resolve) => setTimeout(resolve, retryAfterMs || FIRST_BACKOFF_MS * 2 ** (attempt - 1)));
  }
}
