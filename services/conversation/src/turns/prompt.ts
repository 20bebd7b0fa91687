import { create, toBinary } from "@bufbuild/protobuf";
import { PromptSchema, Role } from "@parley/rpc/llm";
import { type BotConfig, toModelSettings } from "../bots/index.ts";
import { type ShownSource, toShownSource } from "./shown-source.ts";

/** A chunk of knowledge that the search found for a message. `url` is empty if the document was not fetched from a URL. */
export type Passage = { id: number; sourceId: number; source: string; url: string; heading: string; text: string };

/** A word of a message, spelled as in the bot's knowledge. The rarer a word is in the knowledge, the higher is its weight. */
export type PromptTerm = { word: string; weight: number };

export type KnowledgeMatches = {
  /** Best first. */
  passages: readonly Passage[];
  terms: readonly PromptTerm[];
};

/** Either text is empty if it is a message to or of a person. */
export type Exchange = { message: string; reply: string };

type PromptSetting =
  | "systemPrompt"
  | "fallback"
  | "timeZone"
  | "temperature"
  | "topP"
  | "maxOutputTokens"
  | "reasoningEffort"
  | "showSources"
  | "tools"
  | "replyPatterns";

export type PromptParts = KnowledgeMatches & {
  bot: Pick<BotConfig, PromptSetting>;
  /** Oldest first. */
  history: readonly Exchange[];
  message: string;
  /** The answer that the bot's owner has written for the message. */
  answer?: string | undefined;
  /** Whether the model may ask for a person. */
  canRequestHuman?: boolean;
};

/** Encodes a parley.llm.v1.Prompt. Its last message is `message`. */
export function encodePrompt({
  bot,
  passages,
  terms,
  history,
  message,
  answer = "",
  canRequestHuman = false,
}: PromptParts): Uint8Array {
  const messages = toMessages(history);
  messages.push({ role: Role.USER, content: message });
  const settings = toModelSettings(bot);
  // The owner's own answer is shown word for word.
  const citesSources = bot.showSources !== "off" && answer === "";
  return toBinary(
    PromptSchema,
    create(PromptSchema, {
      system: bot.systemPrompt,
      // The bot's text for a message that the model declines to answer.
      fallback: bot.fallback,
      timeZone: bot.timeZone,
      ...(settings && { settings }),
      passages: passages.map((passage) => ({
        id: BigInt(passage.id),
        source: passage.source,
        heading: passage.heading,
        text: passage.text,
        ...(citesSources && toCitedFields(passage, bot.showSources)),
      })),
      messages,
      tools: [...bot.tools],
      replyPatterns: bot.replyPatterns.map(({ pattern, reason, fallback }) => ({
        pattern,
        verdict: { reason, fallback: fallback || bot.fallback },
      })),
      terms: [...terms],
      answer,
      citesSources,
      canRequestHuman,
    }),
  );
}

function toCitedFields(passage: Passage, showSources: string): { sourceId: bigint; shown?: ShownSource } {
  const shown = toShownSource(passage, showSources);
  return { sourceId: BigInt(passage.sourceId), ...(shown && { shown }) };
}

/**
 * Returns the messages of a history. Those of people and to people do not alternate: joins successive messages of one role, and begins with a
 * visitor's message, because some providers require both.
 */
function toMessages(history: readonly Exchange[]): { role: Role; content: string }[] {
  const messages: { role: Role; content: string }[] = [];
  const add = (role: Role, content: string) => {
    const last = messages.at(-1);
    if (content === "" || (last === undefined && role !== Role.USER)) return;
    if (last?.role === role) last.content += `\n\n${content}`;
    else messages.push({ role, content });
  };
  for (const { message, reply } of history) {
    add(Role.USER, message);
    add(Role.ASSISTANT, reply);
  }
  return messages;
}
