import type { OpenAI } from "openai";
import type { ToolRound } from "../../tools/index.ts";
import type { ProviderCall } from "../provider.ts";
import { renderPrompt } from "../render-prompt.ts";

type Message = OpenAI.ChatCompletionMessageParam;

/** A prompt, and what the model called since, as the messages of a chat completion. A tool's answer has the role `tool` and no other. */
export function renderConversation({ prompt, rounds }: Pick<ProviderCall, "prompt" | "rounds">): Message[] {
  return [...renderPrompt(prompt), ...rounds.flatMap(renderRound)];
}

function renderRound({ text, calls }: ToolRound): Message[] {
  return [
    {
      role: "assistant",
      content: text === "" ? null : text,
      tool_calls: calls.map(({ request: { id, name, arguments: given } }) => ({
        id,
        type: "function",
        function: { name, arguments: jsonOrNone(given) },
      })),
    },
    ...calls.map(({ request, result }): Message => ({ role: "tool", tool_call_id: request.id, content: result })),
  ];
}

/** Some providers read back what their model wrote, and refuse what is no JSON. */
function jsonOrNone(text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch {
    return "{}";
  }
}
