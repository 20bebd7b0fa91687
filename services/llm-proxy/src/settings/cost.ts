/** The price of a million tokens, in the operator's currency. */
export type Price = {
  input: number;
  output: number;
  /** Of prompt tokens that the provider read from its cache; default: `input`. */
  cached_input?: number;
  /** Of prompt tokens that the provider wrote to its cache; default: `input`. */
  cache_write?: number;
};

export type PricedTokens = { tokensIn: number; tokensOut: number; tokensCached?: number; tokensCacheWritten?: number };

/** Returns the price of a model by its name, else the price of `*`; undefined if neither is configured. */
export function findPrice(prices: Readonly<Record<string, Price>>, model: string): Price | undefined {
  return Object.hasOwn(prices, model) ? prices[model] : prices["*"];
}

/** Returns null when the model has no price. */
export function computeCost(
  price: Price | undefined,
  { tokensIn, tokensOut, tokensCached = 0, tokensCacheWritten = 0 }: PricedTokens,
): number | null {
  if (price === undefined) return null;
  const { input, output, cached_input: cachedInput = input, cache_write: cacheWrite = input } = price;
  const inputCost =
    (tokensIn - tokensCached - tokensCacheWritten) * input +
    tokensCached * cachedInput +
    tokensCacheWritten * cacheWrite;
  return (inputCost + tokensOut * output) / 1_000_000;
}

/** Formats a cost as a decimal with ten places, as llm.calls stores it. */
export function formatCost(cost: number | null): string | null {
  return cost === null ? null : cost.toFixed(10);
}
