const PLACEHOLDER = /\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

type Scalar = string | number | boolean;

/** The names in braces, each once. */
export function placeholdersOf(template: string): string[] {
  return [...new Set([...template.matchAll(PLACEHOLDER)].map(([, name = ""]) => name))];
}

/** Throws an Error with a sentence fit for whoever wrote the template, unless it is a URL with names in braces in its path and query. */
export function requireUrlTemplate(template: string): void {
  const [one, other] = ["a", "b"].map((letter) => template.replaceAll(PLACEHOLDER, letter)) as [string, string];
  if (/[{}]/.test(one)) throw new Error("url may hold braces around the name of an argument only, as in {order_id}");
  if (!URL.canParse(one) || !URL.canParse(other) || new URL(one).origin !== new URL(other).origin)
    throw new Error("url must be a URL in which braces stand in the path or the query only");
  requireWebUrl(one);
}

/** Throws an Error with a sentence fit for whoever wrote the URL, unless it is one of http or https, in full and as browsers write it. */
export function requireWebUrl(text: string): void {
  if (!URL.canParse(text) || !["http:", "https:"].includes(new URL(text).protocol))
    throw new Error("url must begin with http:// or https://");
  const url = new URL(text);
  if (url.username !== "" || url.password !== "")
    throw new Error("url must not hold a user name or password: name a secret");
  if (url.hash !== "") throw new Error("url must not hold a #");
  if (url.href !== text) throw new Error(`url must be written in full, as in ${url.href}`);
}

/**
 * A template's URL with its arguments in their places, and the arguments that have none. Undefined when one is missing, is no plain
 * value, or would lead to another path than the template's.
 */
export function expandUrl(
  template: string,
  values: Readonly<Record<string, unknown>>,
): { url: URL; rest: Record<string, unknown> } | undefined {
  const rest = { ...values };
  let isWhole = true;
  const text = template.replaceAll(PLACEHOLDER, (_, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    delete rest[name];
    if (isScalar(value) && value !== "") return encode(value);
    isWhole = false;
    return "";
  });
  // Two dots, or whatever else a URL does not keep as it is, would leave the path that the template lays down.
  return isWhole && new URL(text).href === text ? { url: new URL(text), rest } : undefined;
}

function isScalar(value: unknown): value is Scalar {
  return ["string", "number", "boolean"].includes(typeof value);
}

function encode(value: Scalar): string {
  return encodeURIComponent(String(value).toWellFormed()).replaceAll("'", "%27");
}
