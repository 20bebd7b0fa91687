import { expandUrl, readParameters } from "@parley/bot-rules/tools";
import type { HttpTool } from "@parley/rpc/llm";
import { type EgressPolicy, guardedFetch, type ResponseHead } from "@parley/service-kit";
import type { CallableTool, CallOptions } from "./callable.ts";
import type { Credentials } from "./secrets.ts";
import { ToolFailure } from "./tool-call.ts";

export type HttpToolDeps = { egress: EgressPolicy; maxResultBytes: number; timeoutMs: number };

/** An HTTP request as a tool. Throws when its parameters are no schema. */
export function httpTool(
  name: string,
  tool: HttpTool,
  credentials: () => Credentials,
  deps: HttpToolDeps,
): CallableTool {
  const { schema, problemWith } = readParameters(tool.parameters);
  return {
    kind: "http",
    function: { name, description: tool.description, parameters: schema },
    problemWith,
    call: (values, options) => request(tool, values, credentials(), options, deps),
  };
}

const URL_PROBLEM =
  "an argument in the tool's URL must not be empty; one in its path must not contain a slash, a backslash or a control character, also percent-encoded, and must not be only dots";

async function request(
  { method, url: template }: HttpTool,
  values: Record<string, unknown>,
  { headers, conceal }: Credentials,
  { signal }: CallOptions,
  { egress, maxResultBytes, timeoutMs }: HttpToolDeps,
): Promise<string> {
  const expanded = expandUrl(template, values);
  if (expanded === undefined) throw new ToolFailure("invalid_arguments", URL_PROBLEM);
  const { url, rest } = expanded;
  const hasBody = method !== "GET" && method !== "DELETE";
  if (!hasBody) addQuery(url, rest);
  const response = await guardedFetch(url.href, {
    allow: egress,
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
  const text = conceal(new TextDecoder().decode(response.body));
  if (status >= 200 && status < 300) return text;
  throw new ToolFailure("failed", `the tool answered with HTTP ${status}: ${text}`, `http_${status}`);
}

function addQuery(url: URL, values: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(values)) {
    if (value === null) continue;
    for (const each of Array.isArray(value) ? value : [value])
      url.searchParams.append(name, typeof each === "string" ? each : JSON.stringify(each));
  }
}

const TEXT = /^(text\/|application\/([\w.+-]+\+)?(json|xml|yaml|x-ndjson)\b)/i;

/** A model reads text; anything else is not even fetched. */
function requireText({ headers }: ResponseHead): void {
  const type = headers.get("content-type");
  if (type !== null && !TEXT.test(type))
    throw new ToolFailure("failed", "the tool's answer is not text", "content_type");
}
