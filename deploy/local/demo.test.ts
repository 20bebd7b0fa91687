import type { CallAdmin } from "@parley/cli";
import { WorkspaceAdminService } from "@parley/rpc/quota";
import { expect, it } from "vitest";
import { ensureDemo } from "./demo.ts";

it("a deleted workspace of the demo stays deleted, and the start goes on without it", async () => {
  const workspaces = [{ id: "demo", deletedAt: "2026-10-01T00:00:00Z" }];
  const callAdmin = (async (service: unknown, call: (client: unknown) => unknown) => {
    if (service !== WorkspaceAdminService) throw new Error("no such workspace");
    return call({ listWorkspaces: async () => ({ workspaces }) });
  }) as unknown as CallAdmin;
  expect(await ensureDemo(callAdmin, "/nowhere")).toBeUndefined();
});
