export type { ToolFunction, ToolRequest, ToolRound, ToolUse } from "./tool-call.ts";
export type { Toolbox, ToolResult } from "./toolbox.ts";
export type { ToolboxFactory } from "./tools.service.ts";
