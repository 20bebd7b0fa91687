export {
  type HttpToolDefinition,
  MCP_SERVER_SEPARATOR,
  type McpServerDefinition,
  requireHttpTool,
  requireMcpServer,
  requireValidNames,
} from "./definition.ts";
export { parseParameters, type ToolParameters } from "./parameters.ts";
export { expandUrl } from "./url-template.ts";
