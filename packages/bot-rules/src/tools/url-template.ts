const PLACEHOLDER = /\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

type Scalar = string | number | boolean;

/** Returns the distinct names of a template's placeholders, such as `order_id` for `{order_id}`. */
export function findPlaceholders(template: string): string[] {
  return [...new Set([...template.matchAll(PLACEHOLDER)].map(([, name = ""]) => name))];
}

/** Throws unless the template is a web URL with placeholders in its path and query only. The error's message is for the template's author. */
export function requireUrlTemplate(template: string): void {
  // If two expansions differ in their origin, a placeholder is in the scheme, the host or the port.
  const [one, other] = ["a", "b"].map((letter) => template.replaceAll(PLACEHOLDER, letter)) as [string, string];
  if (/[{}]/.test(one)) throw new Error("url must use braces around an argument's name only, as in {order_id}");
  if (!URL.canParse(one) || !URL.canParse(other) || new URL(one).origin !== new URL(other).origin)
    throw new Error("url must be a URL with braces in its path or query only");
  requireWebUrl(one);
}

/** Throws unless the text is an http or https URL in normal form without credentials or a fragment. The error's message is for the URL's author. */
export function requireWebUrl(text: string): void {
  if (!URL.canParse(text) || !["http:", "https:"].includes(new URL(text).protocol))
    throw new Error("url must start with http:// or https://");
  const url = new URL(text);
  if (url.username !== "" || url.password !== "")
    throw new Error("url must not contain a user name or password; use a secret");
  if (text.includes("#")) throw new Error("url must not contain a #");
  if (url.href !== text) throw new Error(`url must be written in full, as in ${url.href}`);
}

/**
 * Replaces a template's placeholders with arguments. Returns the URL and the arguments that have no placeholder. Returns undefined if a
 * placeholder's argument is missing or empty, is not a string, number or boolean, or could change the structure of the path.
 */
export function expandUrl(
  template: string,
  values: Readonly<Record<string, unknown>>,
): { url: URL; rest: Record<string, unknown> } | undefined {
  const rest = { ...values };
  let hasValidArguments = true;
  const text = template.replaceAll(PLACEHOLDER, (_, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    delete rest[name];
    if (isScalar(value) && value !== "") return encode(value);
    hasValidArguments = false;
    return "";
  });
  if (
    !hasValidArguments ||
    !keepsPathStructure(withoutQuery(template.replaceAll(PLACEHOLDER, "x")), withoutQuery(text))
  )
    return undefined;
  const url = new URL(text);
  // If parsing changes the text, the request's path could differ from the checked path.
  return url.href === text ? { url, rest } : undefined;
}

function isScalar(value: unknown): value is Scalar {
  return ["string", "number", "boolean"].includes(typeof value);
}

function encode(value: Scalar): string {
  return encodeURIComponent(String(value).toWellFormed()).replaceAll("'", "%27");
}

function withoutQuery(url: string): string {
  return url.slice(0, url.search(/\?|$/));
}

/** Decoding passes: one for our own encoding, two for encodings within an argument, and one that finds nothing to decode. */
const MAX_DECODINGS = 4;
const UNSAFE_CHARACTERS = /[\p{Cc}\uFFFD]/u;
/** Segments that some servers treat as empty, "." or "..": Java servers cut a segment at its semicolon, Windows trims dots and spaces. */
const DOT_SEGMENT = /^[.\s]*(;|$)/;

/**
 * Returns whether the arguments leave the path's structure unchanged, even if a server decodes the path more than once. For example, nginx
 * decodes a path before routing: it routes /orders/..%2Fadmin like /admin. Also returns false for control characters and invalid UTF-8.
 * Both URLs come without their query. `reference` has "x" in place of each argument.
 */
function keepsPathStructure(reference: string, expanded: string): boolean {
  const [expected, segments] = [decodeSegments(reference), decodeSegments(expanded)];
  if (expected === undefined || segments?.length !== expected.length) return false;
  return segments.every(
    (each, index) => each === expected[index] || !(DOT_SEGMENT.test(each) || UNSAFE_CHARACTERS.test(each)),
  );
}

/** Returns undefined if the path needs more than MAX_DECODINGS passes. */
function decodeSegments(path: string): string[] | undefined {
  let text = path;
  for (let count = 0; count < MAX_DECODINGS; count++) {
    const decoded = decodeOnce(text);
    if (decoded === text) return text.split(/[/\\]/);
    text = decoded;
  }
  return undefined;
}

/** Decodes %XX and, like IIS, %uXXXX. Then folds full-width and other compatibility characters. Invalid UTF-8 becomes U+FFFD. */
function decodeOnce(text: string): string {
  return text
    .replaceAll(/(?:%[0-9a-f]{2})+/gi, (bytes) => Buffer.from(bytes.replaceAll("%", ""), "hex").toString())
    .replaceAll(/%u([0-9a-f]{4})/gi, (_, unit: string) => String.fromCharCode(Number.parseInt(unit, 16)))
    .normalize("NFKC");
}
