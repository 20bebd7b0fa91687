import type { LanguageModelV4Message, LanguageModelV4Prompt, SharedV4ProviderOptions } from "@ai-sdk/provider";
import type { Prompt } from "@parley/rpc/llm";
import type { ToolRound } from "../../tools/index.ts";
import { createCallId } from "../openai/tool-call-deltas.ts";
import type { CompletionRequest } from "../provider.ts";
import { renderPrompt, renderSystem } from "../render-prompt.ts";
import { parseObject } from "./parse-object.ts";

/**
 * Renders a prompt and its tool calls for the AI SDK. A model gets its own earlier messages back as it sent them. `cacheMark` is added to the end of
 * the instructions, which all sessions of a bot share, and to the end of the passages, which the rounds of a reply share.
 */
export function renderMessages(
  { prompt, toolRounds }: Pick<CompletionRequest, "prompt" | "toolRounds">,
  cacheMark: SharedV4ProviderOptions | undefined,
): LanguageModelV4Prompt {
  const messages = renderPrompt(prompt).flatMap(({ role, content }): LanguageModelV4Message[] => {
    if (role === "system") return cacheMark === undefined ? [{ role, content }] : renderMarkedSystem(prompt, cacheMark);
    return [{ role, content: [{ type: "text", text: content }] }];
  });
  return [...messages, ...toolRounds.flatMap(renderRound)];
}

function renderMarkedSystem(prompt: Prompt, cacheMark: SharedV4ProviderOptions): LanguageModelV4Message[] {
  return renderSystem(prompt).map((content, position, { length }) => {
    const isMarked = position === 0 || position === length - 1;
    return { role: "system", content, ...(isMarked && { providerOptions: cacheMark }) };
  });
}

/** Renders the results of tool calls as a message of text. */
export function renderResults(toolRounds: readonly ToolRound[]): LanguageModelV4Message[] {
  const results = toolRounds.flatMap(({ calls }) =>
    calls.map(({ request, result }) => `${request.name} ${request.arguments}\n${result}`),
  );
  const text = ["The results of the tools that you have called:", ...results].join("\n\n");
  return results.length === 0 ? [] : [{ role: "user", content: [{ type: "text", text }] }];
}

function renderRound(round: ToolRound, roundNumber: number): LanguageModelV4Message[] {
  const { text, calls, assistantMessage } = round;
  // The calls of another model get new ids, because some providers accept only ids in their own format.
  const idOf = (position: number) =>
    assistantMessage === undefined ? createCallId(roundNumber, position) : (calls[position]?.request.id ?? "");
  const rendered = {
    role: "assistant" as const,
    content: [
      ...(text === "" ? [] : [{ type: "text" as const, text }]),
      ...calls.map(({ request }, position) => ({
        type: "tool-call" as const,
        toolCallId: idOf(position),
        toolName: request.name,
        input: parseObject(request.arguments),
      })),
    ],
  };
  return [
    // StreamReader has built the model's own message.
    (assistantMessage as LanguageModelV4Message | undefined) ?? rendered,
    {
      role: "tool",
      content: calls.map(({ request, result }, position) => ({
        type: "tool-result",
        toolCallId: idOf(position),
        toolName: request.name,
        output: { type: "text", value: result },
      })),
    },
  ];
}
