import { createDatabase } from "@parley/test-support";
import { setup as startServer } from "@parley/test-support/global-setup";
import type { TestProject } from "vitest/node";
import { runMigrations, SERVICE_ROLE_PASSWORD } from "./processes.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Name of an empty migrated database. Each system's database is a copy of it. */
    migratedDatabase: string;
  }
}

type Server = { postgresUrl: string; migratedDatabase: string; stop(): Promise<void> };

const SERVER = Symbol.for("parley.tests.server");
/** Vitest loads this module once for each project, but runs every setup in one process. So `globalThis` keeps the server. */
const shared = globalThis as typeof globalThis & { [SERVER]?: Promise<Server> };

/** Provides the run's PostgreSQL server with a migrated template database. Projects with this setup share them. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  shared[SERVER] ??= start(project);
  const { postgresUrl, migratedDatabase, stop } = await shared[SERVER];
  project.provide("postgresUrl", postgresUrl);
  project.provide("migratedDatabase", migratedDatabase);
  // Vitest calls the returned functions after the last test of the run, so the first one can stop the server.
  return async () => {
    if (shared[SERVER] === undefined) return;
    delete shared[SERVER];
    await stop();
  };
}

async function start(project: TestProject): Promise<Server> {
  const stop = await startServer(project);
  const { postgresUrl } = project.getProvidedContext();
  const { name, url } = await createDatabase(undefined, { serverUrl: postgresUrl });
  await Promise.all(
    (["conversation", "quota", "llm-proxy"] as const).map((service) =>
      runMigrations(service, url, SERVICE_ROLE_PASSWORD),
    ),
  );
  return { postgresUrl, migratedDatabase: name, stop };
}
