import { Code } from "@connectrpc/connect";
import { KeyAdminService } from "@parley/rpc/conversation";
import { describe, expect, test } from "vitest";
import { adminFailure, useTestSystem } from "../testing/system.ts";
import { createBot, nameOf } from "../testing/turns.ts";

const system = useTestSystem();
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe("keys", () => {
  test("are created with normalised domains, listed oldest first, and revoked once", async () => {
    const keys = system.ops(KeyAdminService);
    const bot = await createBot(system.database);
    const { key } = await keys.createKey({ ...nameOf(bot), domains: ["HTTPS://Shop.example:443", "*.shop.example"] });
    await keys.createKey({ ...nameOf(bot), domains: ["b.example"] });
    expect(key).toMatchObject({
      ...nameOf(bot),
      allowedDomains: ["https://shop.example", "*.shop.example"],
      revokedAt: "",
    });
    expect(key?.publicKey).toMatch(/^svc_pk_[0-9A-Za-z]{32}$/);
    expect((await keys.listKeys({ workspaceId: bot.workspaceId })).keys.map((each) => each.allowedDomains)).toEqual([
      ["https://shop.example", "*.shop.example"],
      ["b.example"],
    ]);
    const publicKey = key?.publicKey ?? "";
    const revoked = await keys.revokeKey({ publicKey });
    expect(revoked.key?.revokedAt).toMatch(RFC_3339);
    expect(await keys.revokeKey({ publicKey })).toEqual(revoked);
    expect(await adminFailure(keys.revokeKey({ publicKey: "svc_pk_x" }))).toMatchObject({
      code: Code.NotFound,
      stable: "key_not_found",
    });
    expect(await adminFailure(keys.createKey({ ...nameOf(bot), domains: ["*"] }))).toMatchObject({
      code: Code.InvalidArgument,
      message: expect.stringContaining("every site"),
    });
    expect(
      await adminFailure(keys.createKey({ ...nameOf(bot), botSlug: "none", domains: ["a.example"] })),
    ).toMatchObject({
      stable: "bot_not_found",
    });
  });
});
