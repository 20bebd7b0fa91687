import type { Try } from "@parley/rpc/llm";

/** Formats what a provider reported about a failed attempt, such as `401 invalid_api_key: Incorrect API key provided`; empty if nothing. */
export function formatProviderError({ providerStatus, providerCode, providerMessage }: Try): string {
  const kind = [providerStatus === 0 ? "" : String(providerStatus), providerCode]
    .filter((part) => part !== "")
    .join(" ");
  return [kind, providerMessage].filter((part) => part !== "").join(": ");
}
