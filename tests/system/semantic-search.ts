import { setTimeout as sleep } from "node:timers/promises";
import { startPgvectorServer } from "@parley/test-support";
import { runMigrations } from "./processes.ts";
import { type System, type SystemOptions, startSystem } from "./system.ts";

export const EMBEDDING_MODEL = "openai:words";

const EMBEDDING_TIMEOUT_MS = 300_000;

/** Starts a system with semantic search: the conversation service's database has pgvector, and the fake provider returns embeddings. */
export async function startSemanticSearchSystem(
  options: Pick<SystemOptions, "databaseServerUrl" | "env"> = {},
): Promise<System> {
  const pgvector = await startPgvectorServer();
  await runMigrations("conversation", pgvector.url, "conversation");
  await pgvector.query("CREATE EXTENSION vector");
  const system = await startSystem({
    ...options,
    llmConfig: (base_url) => ({
      default_model: "openai:echo",
      providers: { openai: { base_url, api_key_env: "OPENAI_API_KEY" } },
      embeddings: { model: EMBEDDING_MODEL },
    }),
    // The pgvector server is PGlite, whose connections all share one session. In one session, no two connections can prepare statements of
    // the same name. The service's two pools use different names. DATABASE_POOL=2 gives each pool one connection.
    env: {
      ...options.env,
      conversation: { DATABASE_URL: pgvector.url, DATABASE_POOL: "2", ...options.env?.conversation },
    },
  });
  return {
    ...system,
    async stop() {
      await system.stop();
      await pgvector.stop();
    },
  };
}

/** Waits until every chunk of the bot has an embedding. Returns immediately if embeddings are off or the database has no pgvector. */
export async function waitUntilEmbedded(
  { admin }: System,
  bot: { workspaceId: string; botSlug: string },
): Promise<void> {
  const deadline = performance.now() + EMBEDDING_TIMEOUT_MS;
  for (;;) {
    const { sources, embeddings } = await admin.knowledge.listSources({ ...bot, pageSize: 500 });
    const isOff = embeddings?.state === "off" || embeddings?.state === "no_pgvector";
    if (isOff || (embeddings?.state === "on" && sources.every(({ embedded, chunks }) => embedded === chunks))) return;
    if (performance.now() > deadline) throw new Error(`knowledge not embedded within ${EMBEDDING_TIMEOUT_MS} ms`);
    await sleep(200);
  }
}
