/** A value that the model fills in, such as the number of an order. */
export type Value = { name: string; description: string };

/** Returns the JSON Schema of the values. The model must give all of them, as texts. */
export function toParameters(values: readonly Value[]): string {
  const properties = values.map(({ name, description }) => [name, { type: "string", description }] as const);
  const required = values.map(({ name }) => name);
  return JSON.stringify({ type: "object", properties: Object.fromEntries(properties), required });
}

/** Returns the values of a JSON Schema that `toParameters` has returned; undefined for any other schema. */
export function parseParameters(parameters: string): Value[] | undefined {
  try {
    const { properties } = JSON.parse(parameters) as { properties: Record<string, { description?: string }> };
    const values = Object.entries(properties).map(([name, { description = "" }]) => ({ name, description }));
    return toParameters(values) === parameters ? values : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the names in braces in an address, such as `number` in `https://shop.example/orders/{number}`. */
export function namesInAddress(url: string): string[] {
  return [...new Set([...url.matchAll(/\{([^{}]+)\}/g)].map(([, name = ""]) => name))];
}

/** Returns the values with one for each name in the address, so that the owner has only to describe them. */
export function withNamesInAddress(values: readonly Value[], url: string): Value[] {
  const missing = namesInAddress(url).filter((name) => !values.some((value) => value.name === name));
  return [...values, ...missing.map((name) => ({ name, description: "" }))];
}
