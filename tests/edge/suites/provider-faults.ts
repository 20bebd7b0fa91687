import { beforeAll, expect, test } from "vitest";
import { postChat, readChat } from "../../support/chat.ts";
import { pool } from "../../support/pool.ts";
import { createTenant, type Tenant } from "../../support/system.ts";
import { newAddress } from "../../support/visitors.ts";
import { expectNoOtherText, expectOneEnd } from "../one-end.ts";
import type { RedisStage } from "../redis-stage.ts";
import { BOUNDARIES, GARBAGE_KINDS, WHOLE_TEXT } from "../scripted-faults.ts";

/** What the scripted provider says unless it is told otherwise. */
const DEFAULT_TEXT = "Hello from the scripted provider, token by token.";
const DEFAULT_TOKENS = 10;

export function providerFaultsSuite(shared: () => RedisStage): void {
  let stage: RedisStage;
  let tenant: Tenant;
  beforeAll(async () => {
    stage = shared();
    tenant = await createTenant(stage.system.admin, { plan: "scale" });
  });

  async function chatWith(model: string, index: number) {
    const { system } = stage;
    const { workspaceId, botSlug } = tenant;
    const slug = `bot-${model}`.slice(0, 60);
    await system.admin.bots.createBot({ workspaceId, slug, changes: { model: `hasty:${model}`, name: botSlug } });
    const { key } = await system.admin.keys.createKey({ workspaceId, botSlug: slug, domains: ["shop.example"] });
    const response = await postChat(
      system.url(index % 3),
      { ...tenant, publicKey: key?.publicKey ?? "" },
      {},
      { headers: { "x-forwarded-for": newAddress() } },
    );
    expect(response.status, model).toBe(200);
    return readChat(response);
  }

  test("a provider that is cut, breaks off, fails or falls silent after any token: one done, last", async () => {
    const models = ["cut-after", "end-after", "error-chunk-after", "stall-after"].flatMap((fault) =>
      Array.from({ length: DEFAULT_TOKENS }, (_, tokens) => `${fault}-${tokens}`),
    );
    await pool(models.length, 16, async (index) => {
      const model = models[index] ?? "";
      const result = await chatWith(model, index);
      expectOneEnd(result, model);
      expectNoOtherText(result, DEFAULT_TEXT, model);
      expect(result.done?.finish_reason, model).toBe("error");
    });
  });

  test("garbage in place of any event: one done, last, and no other text than the provider's", async () => {
    await pool(BOUNDARIES * GARBAGE_KINDS, 16, async (index) => {
      const model = `corrupt-${index % BOUNDARIES}-${Math.floor(index / BOUNDARIES)}`;
      const result = await chatWith(model, index);
      // A finished reply may lose its [DONE]; one that lost a token may not pass for whole.
      expectOneEnd(result, model);
      expectNoOtherText(result, WHOLE_TEXT, model);
      if (index % BOUNDARIES < BOUNDARIES - 2) expect(result.done?.finish_reason, model).toBe("error");
    });
  });
}
