import { type Prompt, Role } from "@parley/rpc/llm";
import type { Provider, ProviderCall } from "../provider.ts";
import { answer } from "./answer.ts";

/** The provider that needs nothing: its model `extractive` answers with sentences of the bot's own knowledge. */
export function builtinProvider(): Provider {
  return { knows: (model) => model === "extractive", stream, close: () => Promise.resolve() };
}

const WORDS_A_PIECE = 6;

async function stream(call: ProviderCall): Promise<void> {
  const text = answer(lastUserMessage(call.prompt), call.prompt.passages, call.prompt.terms);
  for (const piece of pieces(text, WORDS_A_PIECE)) {
    call.signal.throwIfAborted();
    await call.onText(piece);
  }
  call.onFinished([], "stop");
}

function lastUserMessage(prompt: Prompt): string {
  return prompt.messages.findLast((message) => message.role === Role.USER)?.content ?? "";
}

/** Cuts a text after every few words; joined again, the pieces are the text. */
function pieces(text: string, words: number): string[] {
  return text.match(new RegExp(`(?:\\s*\\S+){1,${words}}\\s*`, "g")) ?? [];
}
