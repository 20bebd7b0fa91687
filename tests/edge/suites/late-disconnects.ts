import { setTimeout as sleep } from "node:timers/promises";
import { fixedUsage, readSse } from "@parley/test-support";
import { beforeAll, expect, test } from "vitest";
import { chat, postChat } from "../../system/chat.ts";
import { queryFirstRow, readBalance } from "../../system/database.ts";
import { createTenant, type Tenant } from "../../system/system.ts";
import { newClientAddress } from "../../system/visitors.ts";
import type { EdgeFixture } from "../edge-fixture.ts";
import { LATE_USAGE_TEXT } from "../scripted-faults.ts";

const VISITS = 12;
/** Visitor n (from 0) disconnects n × STEP_MS after the last token, before the provider sends its token counts. */
const STEP_MS = 40;

type StoredTurn = { status: string; content: string; tokensOut: number };

/** Closes the connection `waitMs` after the text satisfies `isEnough`. */
async function visitAndDisconnect(
  url: string,
  tenant: Tenant,
  waitMs: number,
  isEnough: (text: string) => boolean,
): Promise<void> {
  const response = await postChat(url, tenant, {}, { headers: { "x-forwarded-for": newClientAddress() } });
  let text = "";
  for await (const item of readSse(response)) {
    if (!("event" in item) || item.event !== "token") continue;
    text += (item.data as { text: string }).text;
    if (!isEnough(text)) continue;
    await sleep(waitMs);
    // Ends readSse, which closes the connection.
    return;
  }
}

export function lateDisconnectsSuite(shared: () => EdgeFixture): void {
  let fixture: EdgeFixture;
  beforeAll(async () => {
    fixture = shared();
    // The llm-proxy starts its pattern threads at the first moderated reply. Their start can delay the token counts of other replies.
    const tenant = await createTenantWithPattern("never");
    expect((await chat(fixture.system.url(), tenant)).done).toMatchObject({ finish_reason: "stop" });
  });

  async function createTenantWithPattern(pattern: string | undefined, model = "openai:late-usage"): Promise<Tenant> {
    const { admin } = fixture.system;
    const tenant = await createTenant(admin, { plan: "scale", model });
    const { workspaceId, botSlug } = tenant;
    if (pattern !== undefined) await admin.moderation.addPattern({ workspaceId, botSlug, pattern, appliesTo: "reply" });
    return tenant;
  }

  async function readClosedTurns({ workspaceId }: Tenant): Promise<StoredTurn[]> {
    const { database } = fixture.system;
    await expect
      .poll(() => readBalance(database, workspaceId), { timeout: 20_000 })
      .toMatchObject({ held: 0, outbox: 0, unbalanced: 0, streaming: 0 });
    const { turns } = await queryFirstRow<{ turns: StoredTurn[] }>(
      database,
      `SELECT json_agg(json_build_object('status', status, 'content', content, 'tokensOut', tokens_out)) AS turns
       FROM conversation.messages WHERE workspace_id = $1 AND role = 'assistant'`,
      [workspaceId],
    );
    return turns;
  }

  test.each([
    ["without moderation", undefined],
    ["with a moderation pattern that holds back the last word", "\\bnever\\b"],
  ])(`counts each of ${VISITS} complete replies whose visitor disconnects before done, %s`, async (_, pattern) => {
    const { system } = fixture;
    // A workspace has a limited time for matching, so each visitor gets their own workspace.
    const tenants: Tenant[] = [];
    for (let index = 0; index < VISITS; index++) tenants.push(await createTenantWithPattern(pattern));
    const visit = async (tenant: Tenant, index: number) => {
      await visitAndDisconnect(system.url(index % 3), tenant, index * STEP_MS, (text) => text === LATE_USAGE_TEXT);
      const turns = await readClosedTurns(tenant);
      const { done, used, ledger } = await readBalance(system.database, tenant.workspaceId);
      return { turns, done, used, ledger };
    };
    const visits = await Promise.all(tenants.map(visit));
    const reply = { status: "done", content: LATE_USAGE_TEXT, tokensOut: fixedUsage.completion_tokens };
    const counted = { turns: [reply], done: 1, used: 1, ledger: 1 };
    expect(visits).toEqual(tenants.map(() => counted));
  });

  test("stores a reply as blocked and does not count it when a pattern matches its last word and the visitor disconnects before done", async () => {
    const { system } = fixture;
    const tenant = await createTenantWithPattern("\\breply\\b");
    await visitAndDisconnect(system.url(), tenant, 500, (text) => text !== "");
    const [turn] = await readClosedTurns(tenant);
    expect(turn?.status).toBe("blocked");
    // The bot's fallback text replaces the text of a blocked reply.
    expect(turn?.content).not.toContain("reply");
    expect(await readBalance(system.database, tenant.workspaceId)).toMatchObject({ done: 0, used: 0, ledger: 0 });
  });

  test("stores a reply as blocked when a pattern matches a word that the provider sends after the visitor disconnects", async () => {
    const { system } = fixture;
    // The word t8 comes 0.32 s after t0, within the 0.5 s for which an interrupted reply may continue.
    const tenant = await createTenantWithPattern("\\bt8\\b", "openai:tokens-30-every-40");
    await visitAndDisconnect(system.url(), tenant, 0, (text) => text !== "");
    const turns = await readClosedTurns(tenant);
    expect(turns).toMatchObject([{ status: "blocked" }]);
    expect(turns[0]?.content).not.toContain("t0");
  });
}
