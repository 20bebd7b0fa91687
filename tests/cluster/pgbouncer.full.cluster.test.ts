import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { createLoadCheck, describeStreams, timed } from "./checks.ts";
import { ROOT, run } from "./commands.ts";
import { readBlock } from "./documentation.ts";
import { type Installation, install, type Tenant } from "./installation.ts";
import { merge, type Values } from "./values.ts";

/** The services' database roles, each with the key of its password in the documented Secret. */
const ROLES = {
  parley_conversation: "CONVERSATION_DATABASE_PASSWORD",
  parley_quota: "QUOTA_DATABASE_PASSWORD",
  parley_llm: "LLM_DATABASE_PASSWORD",
};

/** Values that replace the documented hosts with the servers of the tests' cluster. */
const HOSTS = {
  database: { host: "pgbouncer.backends.svc.cluster.local" },
  migrations: { database: { host: "postgres.backends.svc.cluster.local" } },
};

describe("PgBouncer on a real cluster", () => {
  let installation: Installation;
  let tenant: Tenant;
  let checkLoad: ReturnType<typeof createLoadCheck>;

  beforeAll(async () => {
    ({ installation, tenant } = await install());
    await startPgBouncer();
    checkLoad = createLoadCheck(installation, tenant);
  });
  afterAll(async () => {
    await installation.remove();
  });

  async function startPgBouncer(): Promise<void> {
    const passwords = await installation.readSecret(...Object.values(ROLES));
    const users = Object.keys(ROLES).map((role, index) => `"${role}" "${passwords[index]}"\n`);
    const secret = ["create", "secret", "generic", "pgbouncer-users", `--from-literal=users.txt=${users.join("")}`];
    await run("kubectl", ["--namespace", "backends", ...secret]);
    const manifests = await readFile(join(ROOT, "tests/cluster/pgbouncer.yaml"), "utf8");
    await run("kubectl", ["apply", "--filename", "-"], { stdin: manifests });
    await run("kubectl", ["--namespace", "backends", "rollout", "status", "deployment/pgbouncer", "--timeout=50s"]);
  }

  /** Returns the addresses from which the services' roles are connected to PostgreSQL. */
  async function clientAddresses(): Promise<string[]> {
    const sql = "SELECT DISTINCT host(client_addr) FROM pg_stat_activity WHERE usename IN";
    const roles = Object.keys(ROLES).map((role) => `'${role}'`);
    return (await installation.query(`${sql} (${roles.join(", ")})`)).trim().split("\n");
  }

  it("loses no stream in an upgrade that connects the services to PgBouncer", async () => {
    const documented = parse(await readBlock("database.md", "Poolers", "yaml")) as Values;
    const report = await timed(
      "upgrade to PgBouncer in transaction mode under load",
      () =>
        installation.underLoad(tenant, async () => {
          await installation.runDocumented("upgrades.md", "", merge(documented, HOSTS));
          await installation.waitForTerminatingPods();
        }),
      describeStreams,
    );
    await checkLoad(report);
  });

  it("proxies every connection of the services", async () => {
    const selector = ["--selector=app=pgbouncer", "--output=jsonpath={.items[0].status.podIP}"];
    const pooler = await run("kubectl", ["--namespace", "backends", "get", "pods", ...selector]);
    let addresses: string[] = [];
    const report = await timed(
      "load through PgBouncer",
      () =>
        installation.underLoad(tenant, async () => {
          await sleep(40_000);
          addresses = await clientAddresses();
        }),
      describeStreams,
    );
    expect(addresses).toEqual([pooler]);
    await checkLoad(report);
  });
});
