/** The price of a million tokens, in the operator's currency. */
export type Price = { input: number; output: number };

/** Returns the price of a model by its name, else the price of `*`; undefined if neither is configured. */
export function findPrice(prices: Readonly<Record<string, Price>>, model: string): Price | undefined {
  return Object.hasOwn(prices, model) ? prices[model] : prices["*"];
}

/** Returns null when the model has no price. */
export function computeCost(price: Price | undefined, tokensIn: number, tokensOut: number): number | null {
  if (price === undefined) return null;
  return (tokensIn * price.input + tokensOut * price.output) / 1_000_000;
}

/** Formats a cost as a decimal with ten places, as llm.calls stores it. */
export function formatCost(cost: number | null): string | null {
  return cost === null ? null : cost.toFixed(10);
}
