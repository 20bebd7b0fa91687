export type { NewPattern } from "./moderation.store.ts";
export { parseDefinition, type ToolDefinition } from "./tool-definition.ts";
