export {
  type HttpToolDefinition,
  MCP_TOOL_NAME_SEPARATOR,
  type McpServerDefinition,
  requireHttpTool,
  requireMcpServer,
  requireValidNames,
} from "./definition.ts";
export { parseParameters, type ToolParameters } from "./parameters.ts";
export { expandUrl } from "./url-template.ts";
