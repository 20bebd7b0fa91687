import { createDatabase } from "@parley/test-support";
import { setup as startServer } from "@parley/test-support/global-setup";
import type { TestProject } from "vitest/node";
import { runMigrations, SERVICE_ROLE_PASSWORD, SERVICES_WITH_DATABASE } from "./processes.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Name of an empty migrated database, which tests copy. */
    migratedDatabase: string;
  }
}

/** A Vitest project's access to the PostgreSQL server, which all projects of the test run share. */
export type SharedServer = {
  postgresUrl: string;
  migratedDatabase: string;
  /** Stops the server if no other project uses it. */
  release(): Promise<void>;
};

type Server = Omit<SharedServer, "release"> & { stop(): Promise<void> };

const SERVER = Symbol.for("parley.tests.server");
/** Vitest loads this module once for each project, but runs every setup in one process. So the global object keeps the server. */
const shared = globalThis as typeof globalThis & { [SERVER]?: { server: Promise<Server>; users: number } };

/** The global setup of a project that needs only the server and the migrated database. Returns its teardown. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  return (await providePostgres(project)).release;
}

/** Provides a project with the server's URL and the migrated database. The first call starts the server. */
export async function providePostgres(project: TestProject): Promise<SharedServer> {
  shared[SERVER] ??= { server: start(project), users: 0 };
  const current = shared[SERVER];
  current.users++;
  const { postgresUrl, migratedDatabase, stop } = await current.server;
  project.provide("postgresUrl", postgresUrl);
  project.provide("migratedDatabase", migratedDatabase);
  return {
    postgresUrl,
    migratedDatabase,
    async release() {
      if (--current.users > 0) return;
      delete shared[SERVER];
      await stop();
    },
  };
}

async function start(project: TestProject): Promise<Server> {
  const stop = await startServer(project);
  const { postgresUrl } = project.getProvidedContext();
  const { name, url } = await createDatabase(undefined, { serverUrl: postgresUrl });
  await Promise.all(SERVICES_WITH_DATABASE.map((service) => runMigrations(service, url, SERVICE_ROLE_PASSWORD)));
  return { postgresUrl, migratedDatabase: name, stop };
}
