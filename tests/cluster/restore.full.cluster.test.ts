import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { countReplies, createLoadCheck, describeStreams, timed } from "./checks.ts";
import { readBlock, readBlocks } from "./documentation.ts";
import { type Installation, install, type Tenant } from "./installation.ts";

/** Shell functions that run PostgreSQL's client tools in PostgreSQL's pod, because only pods can resolve the database's host name. */
const CLIENT_TOOLS = ["psql", "pg_dump", "pg_restore"]
  .map(
    (tool) => `${tool}() {
  kubectl --namespace backends exec --stdin deployment/postgres -- env --chdir=/tmp \\
    PGHOST="$PGHOST" PGDATABASE="$PGDATABASE" PGUSER="$PGUSER" PGPASSWORD="$PGPASSWORD" ${tool} "$@"
}`,
  )
  .join("\n");

describe("backup and restore on a real cluster", () => {
  let installation: Installation;
  let tenant: Tenant;

  beforeAll(async () => {
    ({ installation, tenant } = await install());
  });
  afterAll(async () => {
    await installation.remove();
  });

  /** Runs the commands of a section of docs/install/backup.md in a shell with the exported variables of the page's first block. */
  async function runCommands(heading: string): Promise<void> {
    const variables = (await readBlock("backup.md", "", "sh")).replace("postgres.example.com", "postgres.backends.svc");
    await installation.shell([CLIENT_TOOLS, variables, ...(await readBlocks("backup.md", heading, "sh"))].join("\n"));
  }

  it("restores a dump that was made under load: the audit finds no difference, and the replies after the dump are gone", async () => {
    const report = await timed(
      "backup under load",
      () =>
        installation.underLoad(tenant, async () => {
          await sleep(20_000);
          await runCommands("Back up");
          await sleep(20_000);
        }),
      describeStreams,
    );
    await createLoadCheck(installation, tenant)(report);

    const replies = await timed(
      "restore",
      async () => {
        await runCommands("Restore");
        // countReplies also checks that the audit finds no difference.
        return countReplies(installation, tenant);
      },
      (count) => `${count} of ${report.complete} replies`,
    );
    expect(replies).toBeGreaterThan(0);
    expect(replies).toBeLessThan(report.complete);
  });

  it("loses no stream after the restore", async () => {
    const replies = await countReplies(installation, tenant);
    const report = await timed(
      "load after the restore",
      () => installation.underLoad(tenant, () => sleep(40_000)),
      describeStreams,
    );
    await createLoadCheck(installation, tenant, replies)(report);
  });
});
