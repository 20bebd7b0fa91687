import { randomUUID } from "node:crypto";

export interface ChatRequest {
  /** Id of the response. */
  id: string;
  /** Seconds since 1970. */
  created: number;
  model: string;
  /** The last user message. */
  prompt: string;
  isStream: boolean;
  wantsUsage: boolean;
  /** The API that the request uses. */
  format: "openai" | "anthropic" | "google" | "mistral" | "bedrock";
}

/** The paths of Gemini's API have the model and the method. */
const GOOGLE_PATH = /\/models\/([^/:]+):streamGenerateContent$/;

/** The paths of Bedrock's API have the model. */
const BEDROCK_PATH = /\/model\/([^/]+)\/converse-stream$/;

/** Parses a request. Missing fields and fields of another type count as empty. */
export function parseChatRequest(body: unknown, path: string = ""): ChatRequest {
  const [, googleModel] = GOOGLE_PATH.exec(path) ?? [];
  if (googleModel !== undefined) return parseGoogleRequest(body, decodeURIComponent(googleModel));
  const { model, messages, stream, stream_options: options } = asObject(body);
  const [, bedrockModel] = BEDROCK_PATH.exec(path) ?? [];
  const list: unknown[] = Array.isArray(messages) ? messages : [];
  const last = asObject(list.findLast((message) => asObject(message).role === "user"));
  return {
    id: `chatcmpl-${randomUUID()}`,
    created: Math.floor(Date.now() / 1000),
    model: bedrockModel === undefined ? toText(model) : decodeURIComponent(bedrockModel),
    prompt: readText(last.content),
    isStream: stream === true || bedrockModel !== undefined,
    wantsUsage: asObject(options).include_usage === true,
    format: formatOf(path),
  };
}

function formatOf(path: string): ChatRequest["format"] {
  if (path.endsWith("/messages")) return "anthropic";
  if (path.startsWith("/mistral/")) return "mistral";
  return BEDROCK_PATH.test(path) ? "bedrock" : "openai";
}

function parseGoogleRequest(body: unknown, model: string): ChatRequest {
  const { contents } = asObject(body);
  const list: unknown[] = Array.isArray(contents) ? contents : [];
  const last = asObject(list.findLast((content) => asObject(content).role === "user"));
  return {
    id: randomUUID(),
    created: Math.floor(Date.now() / 1000),
    model,
    prompt: readText(last.parts),
    isStream: true,
    wantsUsage: true,
    format: "google",
  };
}

/** Returns the text of a message's content, which is a text or a list of parts. */
function readText(content: unknown): string {
  if (typeof content === "string") return content;
  const parts: unknown[] = Array.isArray(content) ? content : [];
  return parts.map((part) => asObject(part).text ?? "").join("");
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
