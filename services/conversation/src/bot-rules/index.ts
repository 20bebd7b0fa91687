export type { NewPattern } from "./moderation.store.ts";
export type { ToolDefinition } from "./tools.store.ts";
