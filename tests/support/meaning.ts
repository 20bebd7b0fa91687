import { startPgvectorServer } from "@parley/testing";
import { runMigrations } from "./processes.ts";
import { type System, type SystemOptions, startSystem } from "./system.ts";

/** The model of embeddings that the scripted provider is asked for. */
export const EMBEDDING_MODEL = "openai:words";

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
