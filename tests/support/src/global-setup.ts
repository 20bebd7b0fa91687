import type { TestProject } from "vitest/node";
import { startTestPostgres } from "./postgres.ts";
import { reportMissingRequirements } from "./requirements.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** URL of the PostgreSQL server, for a superuser. */
    postgresUrl: string;
  }
}

/** Starts a PostgreSQL server for a Vitest project. Returns the teardown. tests/system/global-setup.ts calls it once for several projects. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  reportMissingRequirements();
  const postgres = await startTestPostgres();
  project.provide("postgresUrl", postgres.url);
  return () => postgres.stop();
}
