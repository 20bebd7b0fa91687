import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runBackupCommands } from "./backup.ts";
import { countReplies, createLoadCheck, describeStreams, timed } from "./checks.ts";
import { type Installation, install, type Tenant } from "./installation.ts";

describe("backup and restore on a real cluster", () => {
  let installation: Installation;
  let tenant: Tenant;

  beforeAll(async () => {
    ({ installation, tenant } = await install());
  });
  afterAll(async () => {
    await installation.remove();
  });

  it("restores a dump that was made under load: the usage audit finds no difference, and the replies after the dump are gone", async () => {
    const report = await timed(
      "backup under load",
      () =>
        installation.underLoad(tenant, async () => {
          await sleep(20_000);
          await runBackupCommands(installation, "Back up");
          await sleep(20_000);
        }),
      describeStreams,
    );
    await createLoadCheck(installation, tenant)(report);

    const replies = await timed(
      "restore",
      async () => {
        await runBackupCommands(installation, "Restore");
        // countReplies also checks that the usage audit finds no difference.
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
