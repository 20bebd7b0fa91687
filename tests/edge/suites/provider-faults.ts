import { quickOrFull } from "@parley/test-support";
import { beforeAll, expect, test } from "vitest";
import { postChat, readChat } from "../../system/chat.ts";
import { mapConcurrently } from "../../system/map-concurrently.ts";
import { createTenant, type Tenant } from "../../system/system.ts";
import { newClientAddress } from "../../system/visitors.ts";
import type { EdgeFixture } from "../edge-fixture.ts";
import { type Damage, EVENT_COUNT, EVENT_ENDS, FULL_TEXT, GARBAGE_COUNT, isInString } from "../scripted-faults.ts";
import { expectWellFormed, expectWholeTextOrPrefix } from "../stream-assertions.ts";

/** The fake provider's default reply. */
const DEFAULT_TEXT = "Hello from the scripted provider, token by token.";
const DEFAULT_TOKEN_COUNT = 10;
/** Replacement bytes: line ends, the start of an SSE comment, parts of JSON, NUL and letters. */
const REPLACEMENTS = ["X", ":", "\n", "\r", "\0", "{", '"', "\n\n", "XX", ": ", "\\", "}"];
const RANDOM_DAMAGE_COUNT = quickOrFull(60, 2_000);

export function providerFaultsSuite(shared: () => EdgeFixture): void {
  let fixture: EdgeFixture;
  let tenant: Tenant;
  beforeAll(async () => {
    fixture = shared();
    tenant = await createTenant(fixture.system.admin, { plan: "scale" });
  });

  async function createBot(model: string): Promise<Tenant> {
    const { admin } = fixture.system;
    const { workspaceId } = tenant;
    const botSlug = `bot-${model}`;
    // The provider `hasty` is the fake provider with a timeout of one second.
    await admin.bots.createBot({ workspaceId, slug: botSlug, changes: { model: `hasty:${model}`, name: model } });
    const { key } = await admin.keys.createKey({ workspaceId, botSlug, domains: ["shop.example"] });
    return { ...tenant, botSlug, publicKey: key?.publicKey ?? "" };
  }

  async function chatWith(bot: Tenant, index: number, message = "Hello?") {
    const headers = { "x-forwarded-for": newClientAddress() };
    const response = await postChat(fixture.system.url(index % 3), bot, { message }, { headers });
    expect(response.status, message).toBe(200);
    return readChat(response);
  }

  test("a stream ends with error and done when the provider's stream is cut, ends early, fails or stalls after any token", async () => {
    const models = ["cut-after", "end-after", "error-chunk-after", "stall-after"].flatMap((fault) =>
      Array.from({ length: DEFAULT_TOKEN_COUNT }, (_, tokens) => `${fault}-${tokens}`),
    );
    await mapConcurrently(models.length, 16, async (index) => {
      const model = models[index] ?? "";
      const result = await chatWith(await createBot(model), index);
      expectWellFormed(result, model);
      expectWholeTextOrPrefix(result, DEFAULT_TEXT, model);
      expect(result.done?.finish_reason, model).toBe("error");
    });
  });

  test("a stream is well formed and has no foreign text when the provider replaces any one event with garbage", async () => {
    await mapConcurrently(EVENT_COUNT * GARBAGE_COUNT, 16, async (index) => {
      const model = `corrupt-${index % EVENT_COUNT}-${Math.floor(index / EVENT_COUNT)}`;
      const result = await chatWith(await createBot(model), index);
      // A reply that lost a token must end with an error. A reply that lost only its finish reason or [DONE] may be complete.
      expectWellFormed(result, model);
      expectWholeTextOrPrefix(result, FULL_TEXT, model);
      if (index % EVENT_COUNT < EVENT_COUNT - 2) expect(result.done?.finish_reason, model).toBe("error");
    });
  });

  test("a stream has either the full text or an error when bytes of the provider's reply are overwritten", async () => {
    const bot = await createBot("damaged");
    const random = (below: number) => Math.floor(Math.random() * below);
    const last = EVENT_ENDS.at(-1) ?? 0;
    const anywhere = Array.from({ length: RANDOM_DAMAGE_COUNT }, () => ({
      at: random(last),
      characters: REPLACEMENTS[random(REPLACEMENTS.length)] ?? "",
    }));
    // From 3 bytes before to 6 bytes after the end of each event.
    const boundaries = EVENT_ENDS.flatMap((end) => Array.from({ length: 10 }, (_, index) => end - 3 + index));
    // Leaves out changes inside a JSON string: Parley cannot detect all of them.
    const damages: Damage[] = [
      ...boundaries.flatMap((at, index) =>
        [0, 1, 2].map((offset) => ({ at, characters: REPLACEMENTS[(index * 3 + offset) % REPLACEMENTS.length] ?? "" })),
      ),
      ...anywhere,
    ].filter(({ at, characters }) => at < last && ![...characters].some((_, index) => isInString(at + index)));
    let errors = 0;
    await mapConcurrently(damages.length, 16, async (index) => {
      // The fake provider reads the damage from the visitor's message.
      const message = JSON.stringify(damages[index]);
      const result = await chatWith(bot, index, message);
      expectWellFormed(result, message);
      expectWholeTextOrPrefix(result, FULL_TEXT, message);
      if (result.error !== undefined) errors++;
    });
    expect(errors).toBeGreaterThan(damages.length / 4);
  });
}
