import type { Prompt } from "@parley/rpc/llm";
import type { Toolbox } from "../tools/index.ts";

/** What a model is asked. */
export type Question = {
  prompt: Prompt;
  /** What it may call; undefined for nothing. */
  toolbox: Toolbox | undefined;
};
