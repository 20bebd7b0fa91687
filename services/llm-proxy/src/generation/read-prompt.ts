import { fromBinary } from "@bufbuild/protobuf";
import { type Prompt, PromptSchema, Role } from "@parley/rpc/llm";
import { invalid } from "@parley/service-kit";

/** Decodes a prompt; throws invalid_prompt when it is none, or does not end in the visitor's message. */
export function readPrompt(bytes: Uint8Array): Prompt {
  const prompt = decode(bytes);
  if (prompt.messages.at(-1)?.role !== Role.USER) {
    throw invalid("the prompt does not end in the visitor's message", "invalid_prompt");
  }
  return prompt;
}

function decode(bytes: Uint8Array): Prompt {
  try {
    return fromBinary(PromptSchema, bytes);
  } catch {
    throw invalid("the prompt cannot be decoded", "invalid_prompt");
  }
}
