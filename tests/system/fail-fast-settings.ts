/**
 * Returns provider settings for LLM_CONFIG that keep tests of failures short: `timeoutMs` for the first token and for a silence, two
 * attempts with little delay, and a circuit breaker that practically never opens.
 */
export function failFastSettings(timeoutMs: number) {
  return {
    timeouts: { first_token_ms: timeoutMs, silence_ms: timeoutMs },
    retries: { max_attempts: 2, base_delay_ms: 10 },
    breaker: { failures: 1_000 },
  };
}
