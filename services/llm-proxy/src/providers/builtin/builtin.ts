import { type Prompt, Role } from "@parley/rpc/llm";
import type { CompletionRequest, Provider } from "../provider.ts";
import { extractAnswer } from "./extract.ts";

/**
 * The provider without a language model. Its model `extractive` answers with sentences of the prompt's passages, and its model `curated` with the
 * answer that the bot's owner has written for the message.
 */
export function createBuiltinProvider(now = () => new Date()): Provider {
  return {
    hasModel: (model) => model === "extractive" || model === "curated",
    stream: (request) => stream(request, now()),
    close: () => Promise.resolve(),
  };
}

/** The answer is sent in parts of at most this many words, because a language model also sends its answer in parts. */
const WORDS_PER_PART = 6;

async function stream({ model, prompt, signal, onText, onFinished }: CompletionRequest, now: Date): Promise<void> {
  const [message = "", ...earlier] = userMessagesNewestFirst(prompt);
  const isCurated = model === "curated" && prompt.answer !== "";
  const { text, isDeclined } = isCurated
    ? { text: prompt.answer, isDeclined: false }
    : extractAnswer(message, prompt, { earlier, now });
  for (const part of splitAfterWords(text, WORDS_PER_PART)) {
    signal.throwIfAborted();
    await onText(part);
  }
  onFinished({ stopCause: isDeclined ? "declined" : "stop", finishReason: "stop", toolRequests: [] });
}

function userMessagesNewestFirst(prompt: Prompt): string[] {
  const messages = prompt.messages.filter(({ role }) => role === Role.USER);
  return messages.map(({ content }) => content).reverse();
}

/** Splits a text after every `count` words. Keeps all white space. */
function splitAfterWords(text: string, count: number): string[] {
  return text.match(new RegExp(`(?:\\s*\\S+){1,${count}}\\s*`, "g")) ?? [];
}
