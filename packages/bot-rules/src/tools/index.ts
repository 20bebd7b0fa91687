export type { FindProblem } from "./compile-schema.ts";
export {
  type HttpToolDefinition,
  MCP_TOOL_NAME_SEPARATOR,
  type McpServerDefinition,
  requireHttpTool,
  requireMcpServer,
  requireValidNames,
} from "./definition.ts";
export { SchemaError } from "./keywords.ts";
export { parseParameters, readServerParameters, type ToolParameters } from "./parameters.ts";
export { expandUrl } from "./url-template.ts";
