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
 * Returns a template's URL with its arguments in their places, and the arguments that have none. Undefined when one is missing, is no
 * plain value, or could lead a server to another path than the template's.
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
  if (!isWhole || !keepsPath(pathOf(template.replaceAll(PLACEHOLDER, "x")), pathOf(text))) return undefined;
  const url = new URL(text);
  return url.href === text ? { url, rest } : undefined;
}

function isScalar(value: unknown): value is Scalar {
  return ["string", "number", "boolean"].includes(typeof value);
}

function encode(value: Scalar): string {
  return encodeURIComponent(String(value).toWellFormed()).replaceAll("'", "%27");
}

function pathOf(url: string): string {
  return url.slice(0, url.search(/\?|$/));
}

/** Ours, two that proxies and a server may add, and one that finds nothing left to decode. */
const MAX_DECODINGS = 4;
const UNSAFE = /[\p{Cc}\uFFFD]/u;
/** Empty, "." or ".." to some server: Java's cut a segment at its semicolon, Windows trims dots and spaces. */
const DOTS = /^[.\s]*(;|$)/;

/**
 * Whether a path with arguments has the segments of the same path with "x" for each, also for a server that decodes it more than once.
 * A proxy routes by the path that it decodes: nginx sends /orders/..%2Fadmin to where /admin leads.
 */
function keepsPath(plain: string, filled: string): boolean {
  const [expected, segments] = [segmentsOf(plain), segmentsOf(filled)];
  if (expected === undefined || segments?.length !== expected.length) return false;
  return segments.every((each, index) => each === expected[index] || !(DOTS.test(each) || UNSAFE.test(each)));
}

/** Returns a path's segments after every decoding that a server may do; undefined if there are more than MAX_DECODINGS to do. */
function segmentsOf(path: string): string[] | undefined {
  let text = path;
  for (let count = 0; count < MAX_DECODINGS; count++) {
    const decoded = decode(text);
    if (decoded === text) return text.split(/[/\\]/);
    text = decoded;
  }
  return undefined;
}

/** Decodes %XX, and %uXXXX as IIS does, and folds full-width and other compatibility characters. Bytes that are not UTF-8 become U+FFFD. */
function decode(text: string): string {
  return text
    .replaceAll(/(?:%[0-9a-f]{2})+/gi, (bytes) => Buffer.from(bytes.replaceAll("%", ""), "hex").toString())
    .replaceAll(/%u([0-9a-f]{4})/gi, (_, unit: string) => String.fromCharCode(Number.parseInt(unit, 16)))
    .normalize("NFKC");
}
