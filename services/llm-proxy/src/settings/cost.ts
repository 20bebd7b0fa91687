/** What a model's tokens cost, per million, in whatever currency the operator keeps the table in. */
export type Price = { input: number; output: number };

/** The price of a model by its name, or by `*`. */
export function priceOf(prices: Readonly<Record<string, Price>>, model: string): Price | undefined {
  return Object.hasOwn(prices, model) ? prices[model] : prices["*"];
}

/** What tokens cost; null when the model has no price. */
export function costOf(price: Price | undefined, tokensIn: number, tokensOut: number): number | null {
  if (price === undefined) return null;
  return (tokensIn * price.input + tokensOut * price.output) / 1_000_000;
}

/** A cost as a decimal with ten places, as the ledger stores it. */
export function toDecimal(cost: number | null): string | null {
  return cost === null ? null : cost.toFixed(10);
}
