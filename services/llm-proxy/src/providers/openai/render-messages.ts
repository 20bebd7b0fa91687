import type { OpenAI } from "openai";
import type { ToolRound } from "../../tools/index.ts";
import type { CompletionRequest } from "../provider.ts";
import { renderPrompt } from "../render-prompt.ts";

type Message = OpenAI.ChatCompletionMessageParam;

/** Renders a prompt and its tool calls as the messages of a chat completion. Tool results appear only in messages with the role `tool`. */
export function renderMessages({ prompt, toolRounds }: Pick<CompletionRequest, "prompt" | "toolRounds">): Message[] {
  return [...renderPrompt(prompt), ...toolRounds.flatMap(renderRound)];
}

function renderRound({ text, calls }: ToolRound): Message[] {
  return [
    {
      role: "assistant",
      content: text === "" ? null : text,
      tool_calls: calls.map(({ request }) => ({
        id: request.id,
        type: "function",
        function: { name: request.name, arguments: ensureValidJson(request.arguments) },
      })),
    },
    ...calls.map(({ request, result }): Message => ({ role: "tool", tool_call_id: request.id, content: result })),
  ];
}

/** Returns `{}` if the arguments are not JSON: some providers refuse a request with invalid arguments, even if their own model wrote them. */
function ensureValidJson(text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch {
    return "{}";
  }
}
