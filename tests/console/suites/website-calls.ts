import { AuditLogAdminService, SiteAdminService } from "@parley/rpc/conversation";
import { startWebsite, webPage } from "@parley/test-support";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { CONSOLE_WORKSPACE } from "../../system/console.ts";
import { type Body, type CallOverHttp, createCaller } from "../call-over-http.ts";
import type { ConsoleSystem } from "../console-system.ts";

const BOT = "websites-over-http";

/** Tests the calls over HTTP that docs/knowledge.md describes: JSON with a member's access token. */
export function websiteCallsSuite(shared: () => ConsoleSystem): void {
  describe("a script with a member's access token, about websites", () => {
    let owner: CallOverHttp;
    let viewer: CallOverHttp;
    let auditLog: CallOverHttp;

    beforeAll(async () => {
      [owner, viewer, auditLog] = await Promise.all([
        createCaller(shared(), "owner", SiteAdminService),
        createCaller(shared(), "viewer", SiteAdminService),
        createCaller(shared(), "owner", AuditLogAdminService),
      ]);
      const changes = { model: "openai:default", name: "Websites" };
      await shared().system.admin.bots.createBot({ workspaceId: CONSOLE_WORKSPACE, slug: BOT, changes });
    });

    test("adds a website, follows its progress, finds out what failed, and removes it, with entries of the audit log", {
      timeout: 300_000,
    }, async () => {
      const site = await startWebsite();
      onTestFinished(() => site.close());
      site.paths.set("/", webPage("Shop", '<p>Bread daily.</p><a href="/broken">Broken</a>'));
      site.paths.set("/broken", 500);
      const bot = { botSlug: BOT };
      const added = await owner("PutSite", { ...bot, url: site.origin, refreshMinutes: 1_440 });
      const { id } = added.body.site as { id: string };
      const read = async () => (await viewer("GetSite", { ...bot, id, outcome: "failed" })).body;
      await expect.poll(read, { timeout: 120_000 }).toMatchObject({
        site: { id, state: "complete", counts: { found: 2, documents: 1, failed: 1 } },
        pages: [{ url: `${site.origin}/broken`, code: "url_status" }],
      });
      const scheduled = await owner("ScheduleSite", { ...bot, id, refreshMinutes: 60 });
      expect(scheduled.body).toMatchObject({ site: { refreshMinutes: 60 } });
      expect((await owner("ScheduleSite", { ...bot, id, refreshMinutes: 59 })).code).toBe("invalid_argument");
      for (const method of ["RefreshSite", "StopSite", "RemoveSite"])
        expect((await owner(method, { ...bot, id })).status, method).toBe(200);
      await expect.poll(async () => (await viewer("ListSites", bot)).body, { timeout: 120_000 }).toEqual({});
      expect(await owner("RefreshSite", { ...bot, id })).toMatchObject({ status: 404, code: "site_not_found" });

      const entries = (await auditLog("ListAuditLogEntries")).body.entries as { method: string; target: Body }[];
      const ofBot = entries.filter(({ method, target }) => target.bot_slug === BOT && method.startsWith("Site"));
      expect(ofBot.map(({ method, target }) => [method, target.id])).toEqual(
        ["RemoveSite", "StopSite", "RefreshSite", "ScheduleSite", "PutSite"].map((method) => [
          `SiteAdminService/${method}`,
          id,
        ]),
      );
    });

    test("of a viewer changes nothing", async () => {
      for (const [method, body] of [
        ["PutSite", { url: "https://shop.example" }],
        ["ScheduleSite", { id: "1", refreshMinutes: 60 }],
        ["RefreshSite", { id: "1" }],
        ["StopSite", { id: "1" }],
        ["RemoveSite", { id: "1" }],
      ] as const)
        expect(await viewer(method, { botSlug: BOT, ...body }), method).toMatchObject({
          status: 403,
          code: "forbidden",
        });
    });
  });
}
