import { setTimeout as sleep } from "node:timers/promises";
import { startPgvectorServer } from "@parley/test-support";
import { runMigrations } from "./processes.ts";
import { type System, type SystemOptions, startSystem } from "./system.ts";

/** The model of embeddings that the scripted provider is asked for. */
export const EMBEDDING_MODEL = "openai:words";

const EMBED_WITHIN_MS = 300_000;

/**
 * A whole system in which knowledge is found by meaning too: the conversation service has a database with pgvector, and the scripted provider
 * makes embeddings.
 */
export async function startMeaningSystem(options: Pick<SystemOptions, "databaseServerUrl"> = {}): Promise<System> {
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
    // Its connections share one session: one for each of the service's two pools, which name no statement alike.
    env: { conversation: { DATABASE_URL: pgvector.url, DATABASE_POOL: "2" } },
  });
  return {
    ...system,
    async stop() {
      await system.stop();
      await pgvector.stop();
    },
  };
}

/** Waits until all that the bot knows can be found by meaning, on a system where anything can. */
export async function allEmbedded({ admin }: System, bot: { workspaceId: string; botSlug: string }): Promise<void> {
  const deadline = performance.now() + EMBED_WITHIN_MS;
  for (;;) {
    const { sources, embeddings } = await admin.knowledge.listSources(bot);
    const isOff = embeddings?.state === "off" || embeddings?.state === "no_pgvector";
    if (isOff || (embeddings?.state === "on" && sources.every(({ embedded, chunks }) => embedded === chunks))) return;
    if (performance.now() > deadline) throw new Error("what the bot knows is not embedded in time");
    await sleep(200);
  }
}
