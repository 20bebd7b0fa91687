import type { Database } from "@parley/service-kit";
import { toChunks } from "../domain/knowledge/chunking.ts";
import { documentBlocks } from "../domain/knowledge/document.ts";
import { indexChunks } from "../domain/knowledge/index-document.ts";
import type { LanguageName } from "../domain/knowledge/language.ts";
import { readBotConfig } from "../store/bot-config.ts";
import type { Bot } from "../store/bots.ts";
import { putSource, type Source } from "../store/knowledge.ts";
import type { BotKnowledge } from "../store/knowledge-search.ts";

/** Gives a bot a Markdown document. */
export function teach(
  database: Database,
  bot: Bot,
  name: string,
  text: string,
  language: LanguageName = "english",
): Promise<Source> {
  const { workspaceId, id: botId } = bot;
  const chunks = toChunks(documentBlocks("md", text));
  const characters = chunks.reduce((sum, chunk) => sum + chunk.text.length, 0);
  const document = { chunks: chunks.length, characters, pieces: indexChunks(chunks) };
  return putSource(database, { workspaceId, botId, name, format: "md", language, url: "", document });
}

/** What a bot knows, as a turn is told of it. */
export async function knowledgeOf(database: Database, bot: Bot): Promise<BotKnowledge> {
  const { workspaceId, id: botId } = bot;
  const config = await readBotConfig(database, workspaceId, botId);
  if (config === undefined) throw new Error("there is no such bot");
  return { workspaceId, botId, ...config.knowledge };
}
