import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLoadCheck, describeStreams, timed } from "./checks.ts";
import { type Installation, install, type Tenant } from "./installation.ts";
import { prepareNextVersion } from "./next-version.ts";
import type { Values } from "./values.ts";

// The tests run in order on one installation.
describe("upgrades to a version with new migrations on a real cluster", () => {
  let installation: Installation;
  let tenant: Tenant;
  let nextVersion: Values;
  let checkLoad: ReturnType<typeof createLoadCheck>;

  beforeAll(async () => {
    ({ installation, tenant } = await install());
    nextVersion = await prepareNextVersion(installation);
    checkLoad = createLoadCheck(installation, tenant);
  });
  afterAll(async () => {
    await installation.remove();
  });

  async function newestMigrations(): Promise<string[]> {
    const newest = (schema: string) => `(SELECT name FROM ${schema}.migrations ORDER BY id DESC LIMIT 1)`;
    const row = await installation.query(`SELECT ${["conversation", "quota", "llm"].map(newest).join(", ")}`);
    return row.trim().split("|");
  }

  // The second value is the section of upgrades.md whose command the test runs. "" is the part before the first section.
  it.each([
    ["upgrade to the next version", ""],
    ["rollback to this version after the next version's migrations", "Rolling back"],
    ["upgrade to the next version again", ""],
  ])("loses no stream: %s", async (name, heading) => {
    const before = (await installation.pods()).map(({ uid }) => uid);
    const report = await timed(
      `${name} under load`,
      () =>
        installation.underLoad(tenant, async () => {
          await installation.runDocumented("upgrades.md", heading, nextVersion);
          await installation.waitForTerminatingPods();
        }),
      describeStreams,
    );
    expect((await installation.pods()).filter(({ uid }) => before.includes(uid))).toEqual([]);
    expect(await newestMigrations()).toEqual(Array(3).fill("9001_next_things"));
    await checkLoad(report);
  });

  it("loses no stream when `helm upgrade` returns to this version after the next version's migrations", async () => {
    const report = await timed(
      "helm upgrade back to this version after the next version's migrations, under load",
      () =>
        installation.underLoad(tenant, async () => {
          const pod = { annotations: { "example.com/revision": "this-version" } };
          await installation.runDocumented("upgrades.md", "", { pod });
          await installation.waitForTerminatingPods();
        }),
      describeStreams,
    );
    expect(await newestMigrations()).toEqual(Array(3).fill("9001_next_things"));
    await checkLoad(report);
  });
});
