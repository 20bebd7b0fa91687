import { figure } from "@parley/test-support";
import { beforeAll, expect, test } from "vitest";
import { postChat, readChat } from "../../system/chat.ts";
import { pool } from "../../system/pool.ts";
import { createTenant, type Tenant } from "../../system/system.ts";
import { newAddress } from "../../system/visitors.ts";
import type { EdgeStage } from "../edge-stage.ts";
import { expectNoOtherText, expectOneEnd } from "../one-end.ts";
import { BOUNDARIES, type Damage, EVENT_ENDS, GARBAGE_KINDS, isInString, WHOLE_TEXT } from "../scripted-faults.ts";

/** What the scripted provider says unless it is told otherwise. */
const DEFAULT_TEXT = "Hello from the scripted provider, token by token.";
const DEFAULT_TOKENS = 10;
/** What bytes are turned into: ends of lines, the sign of a comment, parts of JSON, and none of these. */
const DAMAGE = ["X", ":", "\n", "\r", "\0", "{", '"', "\n\n", "XX", ": ", "\\", "}"];
const RANDOM_DAMAGES = figure(60, 2_000);

export function providerFaultsSuite(shared: () => EdgeStage): void {
  let stage: EdgeStage;
  let tenant: Tenant;
  beforeAll(async () => {
    stage = shared();
    tenant = await createTenant(stage.system.admin, { plan: "scale" });
  });

  async function botOf(model: string): Promise<Tenant> {
    const { admin } = stage.system;
    const { workspaceId } = tenant;
    const botSlug = `bot-${model}`;
    await admin.bots.createBot({ workspaceId, slug: botSlug, changes: { model: `hasty:${model}`, name: model } });
    const { key } = await admin.keys.createKey({ workspaceId, botSlug, domains: ["shop.example"] });
    return { ...tenant, botSlug, publicKey: key?.publicKey ?? "" };
  }

  async function chatWith(bot: Tenant, index: number, message = "Hello?") {
    const headers = { "x-forwarded-for": newAddress() };
    const response = await postChat(stage.system.url(index % 3), bot, { message }, { headers });
    expect(response.status, message).toBe(200);
    return readChat(response);
  }

  test("a provider that is cut, breaks off, fails or falls silent after any token: one done, last", async () => {
    const models = ["cut-after", "end-after", "error-chunk-after", "stall-after"].flatMap((fault) =>
      Array.from({ length: DEFAULT_TOKENS }, (_, tokens) => `${fault}-${tokens}`),
    );
    await pool(models.length, 16, async (index) => {
      const model = models[index] ?? "";
      const result = await chatWith(await botOf(model), index);
      expectOneEnd(result, model);
      expectNoOtherText(result, DEFAULT_TEXT, model);
      expect(result.done?.finish_reason, model).toBe("error");
    });
  });

  test("garbage in place of any event: one done, last, and no other text than the provider's", async () => {
    await pool(BOUNDARIES * GARBAGE_KINDS, 16, async (index) => {
      const model = `corrupt-${index % BOUNDARIES}-${Math.floor(index / BOUNDARIES)}`;
      const result = await chatWith(await botOf(model), index);
      // A finished reply may lose its [DONE]; one that lost a token may not pass for whole.
      expectOneEnd(result, model);
      expectNoOtherText(result, WHOLE_TEXT, model);
      if (index % BOUNDARIES < BOUNDARIES - 2) expect(result.done?.finish_reason, model).toBe("error");
    });
  });

  test("bytes turned over at any event's end or beginning, or anywhere: an error, or the provider's text whole", async () => {
    const bot = await botOf("damaged");
    const random = (below: number) => Math.floor(Math.random() * below);
    const last = EVENT_ENDS.at(-1) ?? 0;
    const anywhere = Array.from({ length: RANDOM_DAMAGES }, () => ({
      at: random(last),
      characters: DAMAGE[random(DAMAGE.length)] ?? "",
    }));
    const boundaries = EVENT_ENDS.flatMap((end) => Array.from({ length: 10 }, (_, index) => end - 3 + index));
    const damages: Damage[] = [
      ...boundaries.flatMap((at, turn) =>
        [0, 1, 2].map((more) => ({ at, characters: DAMAGE[(turn * 3 + more) % DAMAGE.length] ?? "" })),
      ),
      ...anywhere,
    ].filter(({ at, characters }) => at < last && ![...characters].some((_, index) => isInString(at + index)));
    let errors = 0;
    await pool(damages.length, 16, async (index) => {
      const message = JSON.stringify(damages[index]);
      const result = await chatWith(bot, index, message);
      expectOneEnd(result, message);
      expectNoOtherText(result, WHOLE_TEXT, message);
      if (result.error !== undefined) errors++;
    });
    expect(errors).toBeGreaterThan(damages.length / 4);
  });
}
