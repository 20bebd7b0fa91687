import type { ChatRequest } from "./chat-request.ts";
import { eventOf, type StreamFormat } from "./format.ts";
import { fixedUsage, type Reply, withTotal } from "./reply.ts";

/** Mistral's chat completions: thoughts are parts of the content, calls come whole, and the counts come with the finish reason. */
export function createMistralFormat(chat: ChatRequest, { usage: replyUsage, cachedTokens = 0 }: Reply): StreamFormat {
  const usage = replyUsage === undefined ? fixedUsage : replyUsage;
  const delta = (content: object, reason: string | null = null, fields: object = {}) =>
    eventOf({
      id: chat.id,
      object: "chat.completion.chunk",
      created: chat.created,
      model: chat.model,
      choices: [{ index: 0, delta: content, finish_reason: reason }],
      ...fields,
    });
  return {
    begin: [delta({ role: "assistant", content: "" })],
    thoughts: ({ text }) => [delta({ content: [{ type: "thinking", thinking: [{ type: "text", text }] }] })],
    text: (content) => [delta({ content })],
    toolCalls: (calls) => [
      delta({
        content: "",
        tool_calls: calls.map(({ id, name, arguments: json }, index) => ({
          id: id ?? `call0000${index}`,
          function: { name, arguments: json },
          index,
        })),
      }),
    ],
    error: [eventOf({ object: "error", message: "Service unavailable", type: "server_error", code: "3505" })],
    finish: (reason) => [
      delta({ content: "" }, reason, {
        ...(usage && { usage: { ...withTotal(usage), ...(cachedTokens > 0 && { num_cached_tokens: cachedTokens }) } }),
      }),
    ],
    end: () => ["data: [DONE]"],
    comment: ": still working",
  };
}
