import { fromBinary } from "@bufbuild/protobuf";
import { type Prompt, PromptSchema, Role } from "@parley/rpc/llm";
import { invalidArgument } from "@parley/service-kit";

/** Decodes a prompt. Throws invalid_prompt if the prompt is malformed or its last message is not the visitor's. */
export function readPrompt(bytes: Uint8Array): Prompt {
  const prompt = decode(bytes);
  if (prompt.messages.at(-1)?.role !== Role.USER) {
    throw invalidArgument("the prompt's last message is not the visitor's", "invalid_prompt");
  }
  return prompt;
}

function decode(bytes: Uint8Array): Prompt {
  try {
    return fromBinary(PromptSchema, bytes);
  } catch {
    throw invalidArgument("the prompt cannot be decoded", "invalid_prompt");
  }
}
