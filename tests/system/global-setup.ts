import { createDatabase } from "@parley/test-support";
import { setup as startServer } from "@parley/test-support/global-setup";
import type { TestProject } from "vitest/node";
import { PASSWORD, runMigrations } from "./processes.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Name of an empty migrated database. Each system's database is a copy of it. */
    migratedDatabase: string;
  }
}

/** Starts the run's PostgreSQL server and migrates the template database once. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const stop = await startServer(project);
  const { name, url } = await createDatabase(undefined, { serverUrl: project.getProvidedContext().postgresUrl });
  await Promise.all(
    (["conversation", "quota", "llm-proxy"] as const).map((each) => runMigrations(each, url, PASSWORD)),
  );
  project.provide("migratedDatabase", name);
  return stop;
}
