/** What a provider reports about a failed request. */
export type ProviderError = {
  /** The HTTP status of the response; 0 if unknown. */
  status: number;
  /** The provider's code or type of the error; empty if it sent none. */
  code: string;
  message: string;
};

export const NO_PROVIDER_ERROR: ProviderError = { status: 0, code: "", message: "" };

type Body = Record<string, unknown>;

/** Providers put errors of other providers into their own. */
const MAX_NESTING = 4;
/** Limit for the text that is read. The stored message is shorter. */
const MAX_READ_CHARACTERS = 4_000;

const MESSAGE_FIELDS = ["message", "Message", "msg", "detail", "error_description", "description", "title", "reason"];
// Gemini sends the HTTP status as `code` and its own code as `status`, so a text is better than a number.
const CODE_FIELDS = ["code", "status", "type", "__type", "error_type", "errorCode", "reason"];

/** Reads the body of an error response, or an error inside a stream, in the shapes of the known providers. */
export function readProviderError(body: unknown): Omit<ProviderError, "status"> {
  return readError(body, 0);
}

function readError(body: unknown, nesting: number): Omit<ProviderError, "status"> {
  const none = { code: "", message: "" };
  if (nesting > MAX_NESTING) return none;
  if (typeof body === "string") return readText(body, nesting);
  if (Array.isArray(body)) return body.length === 0 ? none : readError(body[0], nesting + 1);
  if (typeof body !== "object" || body === null) return none;
  return readObject(body as Body, nesting);
}

function readText(body: string, nesting: number): Omit<ProviderError, "status"> {
  const text = body.slice(0, MAX_READ_CHARACTERS).trim();
  if (/^[[{"]/.test(text)) {
    const value = parseJson(body);
    if (value !== undefined) return readError(value, nesting + 1);
    // The limit of an error body has cut the JSON.
    const [, message = ""] = /"message"\s*:\s*"((?:[^"\\]|\\.)*)/.exec(text) ?? [];
    return { code: "", message };
  }
  return { code: "", message: /^<(!doctype|html|head|body|\?xml)/i.test(text) ? readMarkup(text) : text };
}

function readMarkup(text: string): string {
  const [, title] = /<title[^>]*>([^<]*)/i.exec(text) ?? [];
  return title ?? text.replaceAll(/<(style|script)[\s\S]*?(<\/\1>|$)/gi, " ").replaceAll(/<[^>]*>?/g, " ");
}

function readObject(body: Body, nesting: number): Omit<ProviderError, "status"> {
  const code = readCode(body);
  // An error in the error: as a field, as a list, or as JSON in the message.
  for (const field of ["error", "errors", "detail", "details"]) {
    const inner = body[field];
    if (typeof inner !== "object" || inner === null) continue;
    const error = readError(inner, nesting + 1);
    if (error.message !== "" || error.code !== "") return { code: error.code || code, message: withOwn(body, error) };
  }
  const text = [...MESSAGE_FIELDS, "error"].map((field) => body[field]).find((each) => isText(each)) as
    | string
    | undefined;
  const message = text === undefined ? { code: "", message: "" } : readError(text, nesting + 1);
  const upstream = readError((body.metadata as Body | undefined)?.raw, nesting + 1);
  const place = [body.param, body.loc].flat().filter((each) => isText(each) || typeof each === "number");
  const parts = [message.message, upstream.message, place.length === 0 ? "" : `(${place.join(".")})`];
  return { code: code || message.code || upstream.code, message: parts.filter((part) => part !== "").join(" ") };
}

/** Returns the message of an inner error, after the message of the error around it. */
function withOwn({ message }: Body, inner: { message: string }): string {
  return isText(message) && message !== inner.message ? `${message} ${inner.message}`.trim() : inner.message;
}

function readCode(body: Body): string {
  const values = CODE_FIELDS.map((field) => body[field]);
  const text = values.find((each) => isText(each) && !/^(error|\d+)$/.test(each)) ?? values.find(isCodeNumber);
  return text === undefined ? "" : String(text).slice(0, MAX_READ_CHARACTERS);
}

function isCodeNumber(value: unknown): boolean {
  return (typeof value === "number" && Number.isSafeInteger(value)) || (isText(value) && /^\d+$/.test(value));
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
