import { fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { type Tool, ToolSchema } from "@parley/rpc/llm";

/** A parley.llm.v1.Tool in protobuf's JSON format. */
export type ToolDefinition = Record<string, unknown>;

export function toDefinition(tool: Tool): ToolDefinition {
  return toJson(ToolSchema, tool) as ToolDefinition;
}

/** Parses a stored definition. Ignores unknown fields, which a newer version may have stored before a rollback. */
export function parseDefinition(definition: ToolDefinition): Tool {
  return fromJson(ToolSchema, definition as JsonValue, { ignoreUnknownFields: true });
}
