import { createHash } from "node:crypto";
import { MCP_TOOL_NAME_SEPARATOR } from "@parley/bot-rules/tools";

/** Every provider accepts names of at most 64 characters of A-Z a-z 0-9 _ -. */
const MAX_NAME_CHARACTERS = 64;
const HASH_CHARACTERS = 8;

/**
 * Returns the functions' names for a model, by the names of an MCP server's tools: `<server>__<tool>`. A name gets a hash of the tool's name as
 * its end if it is too long, or if another tool would get the same name.
 */
export function toFunctionNames(server: string, tools: readonly string[]): ReadonlyMap<string, string> {
  const plainNames = new Map(tools.map((tool) => [tool, toPlainName(server, tool)]));
  const isAmbiguous = (tool: string, plain: string) =>
    plain !== `${server}${MCP_TOOL_NAME_SEPARATOR}${tool}` &&
    [...plainNames].some(([other, name]) => other !== tool && name === plain);
  return new Map(
    [...plainNames].map(([tool, plain]) => [
      tool,
      plain.length > MAX_NAME_CHARACTERS || isAmbiguous(tool, plain) ? withHash(plain, tool) : plain,
    ]),
  );
}

function toPlainName(server: string, tool: string): string {
  return `${server}${MCP_TOOL_NAME_SEPARATOR}${tool.replaceAll(/[^A-Za-z0-9_-]/g, "_")}`;
}

function withHash(plain: string, tool: string): string {
  const hash = createHash("sha256").update(tool).digest("hex").slice(0, HASH_CHARACTERS);
  return `${plain.slice(0, MAX_NAME_CHARACTERS - HASH_CHARACTERS - 1)}_${hash}`;
}
