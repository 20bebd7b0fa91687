export type { ModerationPattern } from "./moderation.store.ts";
export { parseDefinition, type ToolDefinition } from "./tool-definition.ts";
