export type Values = { [key: string]: unknown };

/** Merges mappings deeply. Any other value in `b` replaces the value of the same key in `a`. */
export function merge(a: Values, b: Values): Values {
  const merged: Values = { ...a };
  for (const [key, value] of Object.entries(b)) {
    const old = merged[key];
    merged[key] = isMapping(old) && isMapping(value) ? merge(old, value) : value;
  }
  return merged;
}

function isMapping(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
