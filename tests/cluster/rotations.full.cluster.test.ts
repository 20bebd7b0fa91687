import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLoadCheck, streamsOf, timed } from "./checks.ts";
import type { Installation, Tenant } from "./installation.ts";
import { install } from "./installed.ts";

const STEPS = ["1. Accept the new token", "2. Send the new token", "3. Remove the old token"];

describe("rotations on a real cluster", () => {
  let installation: Installation;
  let tenant: Tenant;
  let expectWholeStreams: ReturnType<typeof createLoadCheck>;

  beforeAll(async () => {
    ({ installation, tenant } = await install());
    expectWholeStreams = createLoadCheck(installation, tenant);
  });
  afterAll(async () => {
    await installation.remove();
  });

  it("replaces the tokens without a failed stream and without a new pod", async () => {
    const before = await installation.pods();
    const oldTokens = await installation.secret("INTERNAL_TOKEN", "ADMIN_TOKEN");
    const report = await timed(
      "rotation of the tokens under load",
      () =>
        installation.underLoad(tenant, async () => {
          for (const step of STEPS) {
            await installation.runDocumented("rotation.md", step);
            // The cli pod's admin calls send the token of this step.
            await installation.parley("audit", "--check");
          }
        }),
      streamsOf,
    );
    expect(await installation.pods()).toEqual(before);
    const newTokens = await installation.secret("INTERNAL_TOKEN", "ADMIN_TOKEN");
    for (const [index, token] of newTokens.entries()) {
      expect(token).toMatch(/^[0-9a-f]{64}$/);
      expect(token).not.toBe(oldTokens[index]);
    }
    await expectWholeStreams(report);
    const call = `fetch(process.env.PARLEY_QUOTA_URL + "/parley.quota.v1.WorkspaceAdminService/ListWorkspaces", {
      method: "POST", body: "{}",
      headers: { "content-type": "application/json", authorization: "Bearer ${oldTokens[1]}" },
    }).then(({ status }) => console.log(status))`;
    expect(await installation.inCliPod("node", "--eval", call)).toBe("401\n");
  });

  it("replaces the database passwords without a failed stream", async () => {
    const report = await timed(
      "rotation of the database passwords under load",
      () =>
        installation.underLoad(tenant, async () => {
          await installation.runDocumented("rotation.md", "4. Add passwords for the other roles");
          await installation.runDocumented("rotation.md", "5. Use the other roles", { database: { roleSet: 2 } });
          await installation.runDocumented("rotation.md", "6. Lock the old roles", { database: { roleSet: 2 } });
          await installation.runDocumentedSql("rotation.md", "6. Lock the old roles");
        }),
      streamsOf,
    );
    await expectWholeStreams(report);
  });
});
