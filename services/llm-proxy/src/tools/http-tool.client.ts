import { expandUrl, parseParameters } from "@parley/bot-rules/tools";
import type { HttpTool } from "@parley/rpc/llm";
import { decodeText, type Egress, UnknownCharsetError } from "@parley/service-kit";
import { type GuardedResponse, guardedFetch, type ResponseHead } from "@parley/service-kit/egress";
import type { Credentials } from "./secrets.ts";
import { type CallableTool, ToolFailure } from "./tool-call.ts";
import { createArgumentCheck, toToolFunction } from "./tool-function.ts";

export type HttpToolDeps = {
  egress: Egress;
  maxResultBytes: number;
  timeoutMs: number;
  /** Called for each request. Throws ToolFailure when the tool's secret must not be used. */
  credentials: () => Credentials;
};

/** Creates a tool that sends an HTTP request. Throws SchemaError when its parameters are not a JSON Schema. */
export function createHttpTool(name: string, tool: HttpTool, deps: HttpToolDeps): CallableTool {
  const parameters = parseParameters(tool.parameters);
  return {
    kind: "http",
    function: toToolFunction(name, tool.description, parameters),
    findProblem: createArgumentCheck(parameters),
    call: (args, signal) => sendRequest(tool, args, signal, deps),
  };
}

const URL_PROBLEM =
  "an argument in the tool's URL must be a number, a boolean or a text that is not empty; an argument in the URL's path must not contain a slash, a backslash, a control character or invalid Unicode in any encoding or form, must not be percent-encoded more than twice, and must not be only dots and spaces or have only dots and spaces before a semicolon";

async function sendRequest(
  { method, url: template }: HttpTool,
  args: Record<string, unknown>,
  signal: AbortSignal,
  { egress, maxResultBytes, timeoutMs, credentials }: HttpToolDeps,
): Promise<string> {
  const { headers, redact } = credentials();
  const expanded = expandUrl(template, args);
  if (expanded === undefined) throw new ToolFailure("invalid_arguments", URL_PROBLEM);
  const { url, rest } = expanded;
  const hasBody = method !== "GET" && method !== "DELETE";
  if (!hasBody) addQuery(url, rest);
  const response = await guardedFetch(url.href, {
    egress,
    method,
    timeoutMs,
    maxBytes: maxResultBytes,
    signal,
    onHead: requireText,
    headers: {
      accept: "application/json, text/*;q=0.9",
      "user-agent": "Parley",
      ...(hasBody && { "content-type": "application/json" }),
      ...headers,
    },
    ...(hasBody && { body: JSON.stringify(rest) }),
  });
  const { status } = response;
  const text = redact(readText(response));
  if (status >= 200 && status < 300) return text;
  throw new ToolFailure("failed", `the tool responded with HTTP ${status}: ${text}`, `http_${status}`);
}

/** Throws ToolFailure if the charset is unknown. */
function readText({ headers, body }: GuardedResponse): string {
  const contentType = headers.get("content-type") ?? "";
  try {
    return decodeText(body, { contentType, isHtml: HTML_CONTENT_TYPE.test(contentType) });
  } catch (error) {
    if (!(error instanceof UnknownCharsetError)) throw error;
    throw new ToolFailure("failed", "the tool's result has an unknown charset", "charset");
  }
}

/**
 * Leaves out an argument if the tool's URL already has a parameter of that name. A visitor can make a model send any argument, and with two
 * values of a parameter, some servers would use the argument instead of the URL's value.
 */
function addQuery(url: URL, args: Record<string, unknown>): void {
  const ownNames = new Set([...url.searchParams.keys()].map(normaliseParameterName));
  for (const [name, value] of Object.entries(args)) {
    if (value === null || ownNames.has(normaliseParameterName(name))) continue;
    for (const each of Array.isArray(value) ? value : [value])
      url.searchParams.append(name, typeof each === "string" ? each : JSON.stringify(each));
  }
}

/**
 * Returns the name under which a lenient server could store a parameter. PHP stores `scope[]` as scope and `a.b` as a_b; other servers
 * ignore case.
 */
function normaliseParameterName(name: string): string {
  const [stem = ""] = name.normalize("NFKC").trim().split("[");
  return stem.toLowerCase().replaceAll(/[\s.]/g, "_");
}

const HTML_CONTENT_TYPE = /^(text\/html|application\/xhtml\+xml)\b/i;
const TEXT_CONTENT_TYPE = /^(text\/|application\/([\w.+-]+\+)?(json|xml|yaml|x-ndjson)\b)/i;

function requireText({ headers }: ResponseHead): void {
  const type = headers.get("content-type");
  if (type !== null && !TEXT_CONTENT_TYPE.test(type))
    throw new ToolFailure("failed", "the tool's result is not text", "content_type");
}
