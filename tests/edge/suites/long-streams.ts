import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { postChat, readChat } from "../../system/chat.ts";
import { createTenant, type System } from "../../system/system.ts";
import { newAddress } from "../../system/visitors.ts";

/** Longer than a connection between services may become (30 s, a tenth more or less). */
const LONG_TOKENS = 400;
/** Several times longer than a keepalive's period (5 s), shorter than a drain (25 s). */
const DRAINED_TOKENS = 160;

type Outcome = { finish: unknown; tokens: number };

export type LongStreams = {
  long: Outcome;
  /** Of streams whose model proxy, or conversation service, was told to stop at their beginning, and its exit. */
  drained: { outcome: Outcome; exit: unknown }[];
};

/** Streams that outlive the connections they began on: one that runs into their age, and two amid a rollout. */
export async function beginLongStreams(system: System): Promise<LongStreams> {
  const talk = async (url: string, tokens: number): Promise<Outcome> => {
    const tenant = await createTenant(system.admin, { model: `openai:tokens-${tokens}-every-100` });
    const response = await postChat(url, tenant, {}, { headers: { "x-forwarded-for": newAddress() } });
    const { text, done } = await readChat(response);
    // Tokens that come together leave together, in one event.
    return { finish: done?.finish_reason, tokens: text.trimEnd().split(" ").length };
  };
  const drain = async (name: "llm-proxy" | "conversation", target: string) => {
    const replica = await system.startReplica(name);
    const edge = await system.startEdge({ [target]: `127.0.0.1:${replica.port}` });
    const talking = talk(`http://127.0.0.1:${edge.port}`, DRAINED_TOKENS);
    await sleep(2_000);
    const exit = replica.process().stop("SIGTERM", 40_000);
    // The outcome of the turn is stored by the replica that is there for new calls by then.
    if (name === "conversation") await exit.then(() => replica.start());
    return { outcome: await talking, exit: await exit };
  };
  const [long, ...drained] = await Promise.all([
    talk(system.url(), LONG_TOKENS),
    drain("llm-proxy", "LLM_TARGET"),
    drain("conversation", "CONVERSATION_TARGET"),
  ]);
  return { long, drained };
}

export function longStreamsSuite(begun: () => Promise<LongStreams>): void {
  test("a stream outlives the connection between services that it began on", async () => {
    expect((await begun()).long).toEqual({ finish: "stop", tokens: LONG_TOKENS });
  });

  test("a stream outlives the drain of the service that serves it", async () => {
    for (const { outcome, exit } of (await begun()).drained) {
      expect(outcome).toEqual({ finish: "stop", tokens: DRAINED_TOKENS });
      expect(exit).toEqual({ code: 0, signal: null });
    }
  });
}
