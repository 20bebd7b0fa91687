import type { OpenAI } from "openai";
import type { ToolRound } from "../../tools/index.ts";
import type { CompletionRequest } from "../provider.ts";
import { renderPrompt } from "../render-prompt.ts";
import { createCallId } from "./tool-call-deltas.ts";

type Message = OpenAI.ChatCompletionMessageParam;

/**
 * Renders a prompt and its tool calls as the messages of a chat completion. Tool results appear only in messages with the role `tool`. A model
 * gets its own earlier messages back as it sent them.
 */
export function renderMessages({ prompt, toolRounds }: Pick<CompletionRequest, "prompt" | "toolRounds">): Message[] {
  return [...renderPrompt(prompt), ...toolRounds.flatMap(renderRound)];
}

function renderRound(round: ToolRound, roundNumber: number): Message[] {
  const { calls, assistantMessage } = round;
  if (assistantMessage === undefined) return renderRoundOfOtherModel(round, roundNumber);
  const toolCalls = calls.map(({ request }, position) => {
    const call = (assistantMessage.tool_calls as OpenAI.ChatCompletionMessageFunctionToolCall[])[position];
    const { arguments: args } = request;
    return { ...call, function: { ...call?.function, arguments: ensureValidJson(args) } };
  });
  return [
    { ...assistantMessage, tool_calls: toolCalls } as Message,
    ...calls.map(({ request, result }): Message => ({ role: "tool", tool_call_id: request.id, content: result })),
  ];
}

/** Gives the calls new ids, because some providers accept only ids in their own format. */
function renderRoundOfOtherModel({ text, calls }: ToolRound, roundNumber: number): Message[] {
  return [
    {
      role: "assistant",
      content: text === "" ? null : text,
      tool_calls: calls.map(({ request }, position) => ({
        id: createCallId(roundNumber, position),
        type: "function",
        function: { name: request.name, arguments: ensureValidJson(request.arguments) },
      })),
    },
    ...calls.map(
      ({ result }, position): Message => ({
        role: "tool",
        tool_call_id: createCallId(roundNumber, position),
        content: result,
      }),
    ),
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
