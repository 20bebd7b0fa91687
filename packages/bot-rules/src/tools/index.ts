export type { FindProblem } from "./compile-schema.ts";
export { MCP_TOOL_NAME_SEPARATOR, requireHttpTool, requireValidNames } from "./definition.ts";
export { SchemaError } from "./keywords.ts";
export { parseParameters, readServerParameters, type ToolParameters } from "./parameters.ts";
export { REQUEST_HUMAN } from "./request-human.ts";
export { expandUrl, requireWebUrl } from "./url-template.ts";
