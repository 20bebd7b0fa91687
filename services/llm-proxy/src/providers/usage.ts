import type { Usage } from "./provider.ts";

/** The largest value of the call log's integer columns. */
const MAX_TOKENS = 2 ** 31 - 1;

/** Returns undefined if a count is invalid, and for zeros, which some gateways send until they know the counts: a prompt has at least one token. */
export function createUsage(
  tokensIn: unknown,
  tokensOut: unknown,
  { cached, cacheWritten }: { cached: unknown; cacheWritten?: unknown },
): Usage | undefined {
  if (!isCount(tokensIn) || !isCount(tokensOut) || tokensIn + tokensOut === 0) return undefined;
  const tokensCached = isCount(cached) ? cached : 0;
  const tokensCacheWritten = isCount(cacheWritten) ? cacheWritten : 0;
  // Counts that do not fit together would make a negative cost.
  if (tokensCached + tokensCacheWritten > tokensIn) return { tokensIn, tokensOut };
  return {
    tokensIn,
    tokensOut,
    ...(tokensCached > 0 && { tokensCached }),
    ...(tokensCacheWritten > 0 && { tokensCacheWritten }),
  };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAX_TOKENS;
}
