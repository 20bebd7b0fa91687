import { parseParameters } from "./parameters.ts";
import { findPlaceholders, requireUrlTemplate } from "./url-template.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

const NAME_PATTERN = /^[A-Za-z][A-Za-z0-9_-]*$/;
const SECRET_NAME_PATTERN = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** A model calls an MCP tool by the name `<server>__<tool>`. */
export const MCP_TOOL_NAME_SEPARATOR = "__";

type HttpTool = { method: string; url: string; parameters: string };

// The `require…` functions throw an Error if a definition that the rules of the proto accept is invalid. The tool's author sees the message of the
// Error.

/** Checks the names of a tool and of its secret. */
export function requireValidNames({ name, secret }: { name: string; secret: string }): void {
  if (!NAME_PATTERN.test(name) || name.includes(MCP_TOOL_NAME_SEPARATOR))
    throw new Error("name must have only the characters A-Z a-z 0-9 _ -, start with a letter, and not contain __");
  if (secret !== "" && !SECRET_NAME_PATTERN.test(secret))
    throw new Error("secret must be the name of a secret in LLM_CONFIG's tool_secrets");
}

export function requireHttpTool({ method, url, parameters }: HttpTool): void {
  if (!METHODS.some((each) => each === method)) throw new Error(`method must be one of ${METHODS.join(", ")}`);
  requireUrlTemplate(url);
  const { schema, compile } = parseParameters(parameters);
  compile();
  const names = findPlaceholders(url);
  const missing = names.find((name) => !isRequired(schema, name));
  if (missing !== undefined)
    throw new Error(`parameters must describe and require ${missing}, because the url contains it`);
}

function isRequired(schema: Record<string, unknown>, name: string): boolean {
  const { properties, required } = schema;
  const isDescribed = typeof properties === "object" && properties !== null && Object.hasOwn(properties, name);
  return isDescribed && Array.isArray(required) && required.includes(name);
}
