import { expect, onTestFinished, test } from "vitest";
import { queryFirstRow } from "../system/database.ts";
import { startSystem } from "../system/system.ts";

test("each service starts even if its role has no statement_timeout, and logs SQL that sets this timeout but not idle_in_transaction_session_timeout", async () => {
  const system = await startSystem({
    edges: 0,
    async prepareDatabase(database) {
      for (const role of ["parley_conversation", "parley_quota", "parley_llm"]) {
        await queryFirstRow(database, `ALTER ROLE ${role} IN DATABASE ${database.name} SET statement_timeout = 0`);
      }
    },
  });
  onTestFinished(() => system.stop());
  for (const [service, role] of [
    [system.conversation, "parley_conversation"],
    [system.quota, "parley_quota"],
    [system.llm, "parley_llm"],
  ] as const) {
    await expect.poll(() => service.outputs(), { timeout: 20_000 }).toContain("role timeout missing");
    expect(service.outputs()).toContain(`ALTER ROLE \\"${role}\\" SET statement_timeout = '10s';`);
    expect(service.outputs()).not.toContain("SET idle_in_transaction_session_timeout");
  }
});
