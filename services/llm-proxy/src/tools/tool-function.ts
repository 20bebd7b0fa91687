import type { FindProblem, ToolParameters } from "@parley/bot-rules/tools";
import { cutText } from "../text.ts";
import type { CallableTool, ToolFunction } from "./tool-call.ts";

/** OpenAI refuses a request with a longer description. */
const MAX_DESCRIPTION_CHARACTERS = 1_024;

/** Returns the description of a function that every provider accepts. */
export function toToolFunction(name: string, description: string, { modelSchema }: ToolParameters): ToolFunction {
  return {
    name,
    description: cutText(description.toWellFormed(), MAX_DESCRIPTION_CHARACTERS),
    parameters: modelSchema,
  };
}

/**
 * Returns a check of a function's arguments that compiles the schema when the model first calls the function, and keeps it for one generation.
 */
export function createArgumentCheck(parameters: ToolParameters): CallableTool["findProblem"] {
  let findProblem: FindProblem | undefined;
  return (args) => {
    findProblem ??= parameters.compile();
    return findProblem(args);
  };
}
