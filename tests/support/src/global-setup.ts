import type { TestProject } from "vitest/node";
import { startTestPostgres } from "./postgres.ts";
import { reportMissingRequirements } from "./requirements.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** URL of the PostgreSQL server, for a superuser. */
    postgresUrl: string;
  }
}

/** Starts a PostgreSQL server, provides its URL to a Vitest project, and returns the teardown. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  reportMissingRequirements();
  const postgres = await startTestPostgres({ preferMemory: true });
  project.provide("postgresUrl", postgres.url);
  return () => postgres.stop();
}
