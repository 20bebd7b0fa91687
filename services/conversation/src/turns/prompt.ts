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

export type Exchange = { message: string; reply: string };

export type PromptParts = KnowledgeMatches & {
  bot: Omit<BotConfig, "fallbacks" | "consentTexts" | "knowledge" | "messagePatterns" | "answers">;
  /** Oldest first. */
  history: readonly Exchange[];
  message: string;
  /** The answer that the bot's owner has written for the message. */
  answer?: string | undefined;
};

/** Encodes a parley.llm.v1.Prompt. Its last message is `message`. */
export function encodePrompt({ bot, passages, terms, history, message, answer = "" }: PromptParts): Uint8Array {
  const messages = history.flatMap((turn) => [
    { role: Role.USER, content: turn.message },
    { role: Role.ASSISTANT, content: turn.reply },
  ]);
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
    }),
  );
}

function toCitedFields(passage: Passage, showSources: string): { sourceId: bigint; shown?: ShownSource } {
  const shown = toShownSource(passage, showSources);
  return { sourceId: BigInt(passage.sourceId), ...(shown && { shown }) };
}
