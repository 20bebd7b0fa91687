import { createDatabase, type TestDatabase } from "@parley/test-support";
import { inject } from "vitest";
import type { TestProject } from "vitest/node";
import { createAdminClients } from "./admin.ts";
import type { Database } from "./database.ts";
import { providePostgres } from "./global-setup.ts";
import type { ServiceProcess } from "./processes.ts";
import { connectSso, type Sso, type SsoClient } from "./servers/sso.ts";
import { createShards, isSharded, readTestShards } from "./shards.ts";
import { createReplicas, type Replicas, type ServiceEnvironments, type System, startSystem } from "./system.ts";

export type ServicePorts = Pick<ServiceProcess, "port" | "opsPort">;

/**
 * A system that several test files use at the same time. They share its database, services, identity provider and fake LLM provider. Each file
 * starts edges and replicas of its own.
 */
export type SharedSystem = Replicas &
  Pick<System, "admin"> & {
    conversation: ServicePorts;
    quota: ServicePorts;
    llm: ServicePorts;
    sso: SsoClient;
    database: Pick<TestDatabase, "name"> & Database;
  };

type ProvidedSystem = Pick<SharedSystem, "conversation" | "quota" | "llm" | "database"> & {
  env: ServiceEnvironments;
  sso: Pick<Sso, "issuer" | "signingKey">;
};

declare module "vitest" {
  interface ProvidedContext {
    sharedSystem: ProvidedSystem;
  }
}

/** The setup of the Vitest projects `contract` and `system`: starts the shared system without an edge. Returns its teardown. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await providePostgres(project);
  const { postgresUrl: serverUrl, migratedDatabase: template } = server;
  const shards = readTestShards();
  const database =
    shards === 1 ? await createDatabase(undefined, { serverUrl, template }) : await createShards(shards, serverUrl);
  const system = await startSystem({ edges: 0, database });
  const portsOf = ({ port, opsPort }: ServiceProcess) => ({ port, opsPort });
  project.provide("sharedSystem", {
    conversation: portsOf(system.conversation),
    quota: portsOf(system.quota),
    llm: portsOf(system.llm),
    env: system.env,
    sso: { issuer: system.sso.issuer, signingKey: system.sso.signingKey },
    database: { name: database.name, url: database.url, ...(isSharded(database) && { shardUrls: database.shardUrls }) },
  });
  return async () => {
    await system.stop();
    await server.release();
  };
}

/**
 * Returns the run's shared system, without an edge. A test file must not stop the shared services, or depend on the workspaces of other
 * files. `stop` stops the edges and replicas that the calling test file started.
 */
export async function joinSharedSystem(): Promise<SharedSystem> {
  const { env, sso, ...system } = inject("sharedSystem");
  const { conversation, quota, llm } = system;
  return {
    ...system,
    ...createReplicas(env),
    admin: createAdminClients({ conversation: conversation.opsPort, quota: quota.opsPort, llm: llm.opsPort }),
    sso: await connectSso(sso),
  };
}
