import type { TestProject } from "vitest/node";
import { startTestPostgres } from "./postgres.ts";
import { reportMissing } from "./requirements.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** A superuser's URL of the run's PostgreSQL server. */
    postgresUrl: string;
  }
}

/** Vitest calls it once a project and run, and what it returns at the end. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  reportMissing();
  const postgres = await startTestPostgres();
  project.provide("postgresUrl", postgres.url);
  return () => postgres.stop();
}
