import type { BotConfig } from "../shared/types.ts";

const DEADLINE_MS = 10_000;
const FIRST_WAIT_MS = 2_000;
const TRIES = 6;

/**
 * Fetches the bot's display configuration. What may pass (no network, 429, 5xx) is tried again, after Retry-After or
 * twice the last wait; what will not, such as `origin_not_allowed`, an Error whose message is the code.
 */
export async function fetchConfig(base: string, publicKey: string, signal: AbortSignal): Promise<BotConfig> {
  const url = `${base}api/widget/config/?public_key=${encodeURIComponent(publicKey)}`;
  for (let attempt = 0; ; attempt++) {
    let waitMs = FIRST_WAIT_MS * 2 ** attempt;
    let code = "network";
    try {
      const response = await fetch(url, {
        credentials: "omit",
        signal: AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]),
      });
      const body = (await response.json()) as { bot: BotConfig; error?: string };
      if (response.ok) {
        return body.bot;
      }
      code = body.error ?? String(response.status);
      waitMs = Number(response.headers.get("retry-after")) * 1000 || waitMs;
      attempt = response.status === 429 || response.status >= 500 ? attempt : TRIES;
    } catch {
      signal.throwIfAborted();
    }
    if (attempt >= TRIES) {
      throw new Error(code);
    }
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    signal.throwIfAborted();
  }
}
