import type { Migration } from "@parley/service-kit";
import * as bots from "./0001_bots.ts";
import * as knowledge from "./0002_knowledge.ts";
import * as conversations from "./0003_conversations.ts";
import * as settling from "./0004_settling.ts";
import * as tools from "./0005_tools.ts";
import * as noStatistics from "./0006_no_statistics_of_content.ts";
import * as turnsByMessage from "./0007_turns_by_message.ts";
import * as retrieval from "./0008_retrieval.ts";
import * as embeddings from "./0009_embeddings.ts";

/** Every migration of the conversation schema, oldest first. */
export const migrations: readonly Migration[] = [
  bots,
  knowledge,
  conversations,
  settling,
  tools,
  noStatistics,
  turnsByMessage,
  retrieval,
  embeddings,
];
