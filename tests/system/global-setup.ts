import { createDatabase } from "@parley/test-support";
import { setup as startServer } from "@parley/test-support/global-setup";
import type { TestProject } from "vitest/node";
import { PASSWORD, runMigrations } from "./processes.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** A database of the run's server with every schema, and nothing in it: what each system's own is a copy of. */
    migratedDatabase: string;
  }
}

/** The run's PostgreSQL server, and on it the schemas, migrated once for all. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const stop = await startServer(project);
  const { name, url } = await createDatabase(undefined, { serverUrl: project.getProvidedContext().postgresUrl });
  await Promise.all(
    (["conversation", "quota", "llm-proxy"] as const).map((each) => runMigrations(each, url, PASSWORD)),
  );
  project.provide("migratedDatabase", name);
  return stop;
}
