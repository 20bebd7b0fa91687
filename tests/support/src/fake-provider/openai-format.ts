import type { ChatRequest } from "./chat-request.ts";
import { eventOf, type StreamFormat } from "./format.ts";
import { type Reply, withTotal } from "./reply.ts";

/** OpenAI's chat completions: `chat.completion.chunk` objects. */
export function createOpenAiFormat(chat: ChatRequest, { hasDone = true, cachedTokens = 0 }: Reply): StreamFormat {
  const chunk = (fields: object) =>
    eventOf({ id: chat.id, object: "chat.completion.chunk", created: chat.created, model: chat.model, ...fields });
  const delta = (content: object, reason: string | null = null) =>
    chunk({ choices: [{ index: 0, delta: content, finish_reason: reason }] });
  return {
    begin: [delta({ role: "assistant", content: "" })],
    thoughts: ({ text }) => [delta({ reasoning_content: text })],
    text: (content) => [delta({ content })],
    toolCalls: (calls) =>
      calls.flatMap(({ id, name, arguments: json }, index) => {
        const middle = Math.ceil(json.length / 2);
        const call = (fields: object) => delta({ tool_calls: [{ index, ...fields }] });
        return [
          call({ id: id ?? `call_${index}`, type: "function", function: { name, arguments: "" } }),
          ...[json.slice(0, middle), json.slice(middle)].map((part) => call({ function: { arguments: part } })),
        ];
      }),
    error: [eventOf({ error: { message: "The server had an error", type: "server_error", code: null } })],
    finish: (reason) => [delta({}, reason)],
    end: (usage) => [
      ...(usage && chat.wantsUsage
        ? [
            chunk({
              choices: [],
              usage: {
                ...withTotal(usage),
                ...(cachedTokens > 0 && { prompt_tokens_details: { cached_tokens: cachedTokens } }),
              },
            }),
          ]
        : []),
      ...(hasDone ? ["data: [DONE]"] : []),
    ],
    comment: ": still working",
  };
}
