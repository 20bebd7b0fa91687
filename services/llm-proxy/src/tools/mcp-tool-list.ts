import { readServerParameters, SchemaError, type ToolParameters } from "@parley/bot-rules/tools";
import { cutText, withoutControlCharacters } from "../text.ts";

export type McpTool = { name: string; description: string; parameters: ToolParameters };

/** A function that is not offered to the model. `reason` is for the tool's owner. */
export type OmittedFunction = { name: string; reason: string };

const MAX_NAME_CHARACTERS = 128;
const MAX_REASON_CHARACTERS = 300;

/** Reads a tool as an MCP server lists it. */
export function readMcpTool(listed: unknown): McpTool | OmittedFunction {
  const { name, description, title, inputSchema } = Object(listed) as Record<string, unknown>;
  if (typeof name !== "string" || name === "" || name.length > MAX_NAME_CHARACTERS)
    return omit(typeof name === "string" ? name : "", `its name must have 1 to ${MAX_NAME_CHARACTERS} characters`);
  const text = [description, title, name].find((each) => typeof each === "string" && each.trim() !== "") as string;
  try {
    return { name, description: text, parameters: readServerParameters(inputSchema) };
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    return omit(name, error.message);
  }
}

/** Bounds the texts: they can contain text of an MCP server. */
export function omit(name: string, reason: string): OmittedFunction {
  return { name: shorten(name, MAX_NAME_CHARACTERS), reason: shorten(reason, MAX_REASON_CHARACTERS) };
}

function shorten(text: string, maxCharacters: number): string {
  return cutText(withoutControlCharacters(text.slice(0, 2 * maxCharacters)), maxCharacters);
}
