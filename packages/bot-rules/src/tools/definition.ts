import { isLongerThan } from "@parley/service-kit";
import { parseParameters } from "./parameters.ts";
import { findPlaceholders, requireUrlTemplate, requireWebUrl } from "./url-template.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

const NAME_PATTERN = /^[A-Za-z][A-Za-z0-9_-]{0,31}$/;
const SECRET_NAME_PATTERN = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const MAX_URL_CHARACTERS = 2_000;
const MAX_DESCRIPTION_CHARACTERS = 2_000;
const MAX_SELECTED_TOOLS = 64;
const MAX_MCP_TOOL_NAME_CHARACTERS = 128;

/** A model calls an MCP tool by the name `<server>__<tool>`. */
export const MCP_TOOL_NAME_SEPARATOR = "__";

export type HttpToolDefinition = { description: string; method: string; url: string; parameters: string };
export type McpServerDefinition = { url: string; only: readonly string[] };

// The `require…` functions throw an Error if the definition is invalid. The tool's author sees the message of the Error.

/** Checks the names of a tool and of its secret. */
export function requireValidNames({ name, secret }: { name: string; secret: string }): void {
  if (!NAME_PATTERN.test(name) || name.includes(MCP_TOOL_NAME_SEPARATOR))
    throw new Error("name must be 1 to 32 characters of A-Z a-z 0-9 _ -, start with a letter, and not contain __");
  if (secret !== "" && !SECRET_NAME_PATTERN.test(secret))
    throw new Error("secret must be the name of a secret in LLM_CONFIG's tool_secrets");
}

export function requireHttpTool({ description, method, url, parameters }: HttpToolDefinition): void {
  if (description.trim() === "" || isLongerThan(description, MAX_DESCRIPTION_CHARACTERS) || description.includes("\0"))
    throw new Error(
      `description must explain the tool to the model in at most ${MAX_DESCRIPTION_CHARACTERS} characters`,
    );
  if (!METHODS.some((each) => each === method)) throw new Error(`method must be one of ${METHODS.join(", ")}`);
  requireUrlLength(url);
  requireUrlTemplate(url);
  const { schema, compile } = parseParameters(parameters);
  compile();
  const names = findPlaceholders(url);
  const missing = names.find((name) => !isRequired(schema, name));
  if (missing !== undefined)
    throw new Error(`parameters must describe and require ${missing}, because the url contains it`);
}

/** `only` names the tools to offer to the model; empty for all. */
export function requireMcpServer({ url, only }: McpServerDefinition): void {
  requireUrlLength(url);
  requireWebUrl(url);
  const isInvalid = (name: string) => name === "" || name.length > MAX_MCP_TOOL_NAME_CHARACTERS || name.includes("\0");
  if (only.length > MAX_SELECTED_TOOLS || only.some(isInvalid))
    throw new Error(`only must be at most ${MAX_SELECTED_TOOLS} names of the server's tools`);
}

function requireUrlLength(url: string): void {
  if (url.length > MAX_URL_CHARACTERS) throw new Error(`url must have at most ${MAX_URL_CHARACTERS} characters`);
}

function isRequired(schema: Record<string, unknown>, name: string): boolean {
  const { properties, required } = schema;
  const isDescribed = typeof properties === "object" && properties !== null && Object.hasOwn(properties, name);
  return isDescribed && Array.isArray(required) && required.includes(name);
}
