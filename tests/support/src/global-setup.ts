import type { TestProject } from "vitest/node";
import { startTestPostgres } from "./postgres.ts";
import { reportMissing } from "./requirements.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** URL of the project's PostgreSQL server, for a superuser. */
    postgresUrl: string;
  }
}

/** Vitest calls this function once for each project of a run. It calls the returned function at the end of the run. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  reportMissing();
  const postgres = await startTestPostgres();
  project.provide("postgresUrl", postgres.url);
  return () => postgres.stop();
}
