export {
  type HttpToolDefinition,
  type McpServerDefinition,
  METHODS,
  requireHttpTool,
  requireMcpServer,
  requireNames,
  SERVER_SEPARATOR,
} from "./definition.ts";
export { type Parameters, parseParameters } from "./parameters.ts";
export { expandUrl } from "./url-template.ts";
