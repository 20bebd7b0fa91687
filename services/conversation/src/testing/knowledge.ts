import type { Database } from "@parley/service-kit";
import { readBotConfig } from "../bots/bot-config.store.ts";
import type { Bot } from "../bots/bots.store.ts";
import { toChunks } from "../documents/blocks/chunking.ts";
import { splitDocument } from "../documents/document.ts";
import { indexChunks } from "../documents/index-document.ts";
import type { LanguageName } from "../documents/words/language.ts";
import { putSource, type Source } from "../knowledge/knowledge.store.ts";
import type { BotKnowledge } from "../knowledge/knowledge-search.store.ts";

export function addDocument(
  database: Database,
  bot: Bot,
  name: string,
  text: string,
  language: LanguageName = "english",
): Promise<Source> {
  const { workspaceId, id: botId } = bot;
  const chunks = toChunks(splitDocument("md", text));
  const characters = chunks.reduce((sum, chunk) => sum + chunk.text.length, 0);
  const document = { chunkCount: chunks.length, characters, pieces: indexChunks(chunks) };
  const source = { workspaceId, botId, name, format: "md" as const, language, url: "", document, text };
  return putSource(database, source, { maxDocuments: 1_000, maxCharacters: 100_000_000 });
}

export async function readKnowledge(database: Database, bot: Bot): Promise<BotKnowledge> {
  const { workspaceId, id: botId } = bot;
  const config = await readBotConfig(database, workspaceId, botId);
  if (config === undefined) throw new Error("there is no such bot");
  return { workspaceId, botId, timeZone: config.timeZone, ...config.knowledge };
}
