import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { postChat, readChat } from "../../system/chat.ts";
import { createTenant, type System } from "../../system/system.ts";
import { newClientAddress } from "../../system/visitors.ts";

/** At 100 ms each, these take 40 s: longer than the maximum age of a connection between services (30 s ± 10 %). */
const LONG_TOKENS = 400;
/** At 100 ms each, these take 16 s: several keepalive intervals (5 s each), but less than a drain (25 s). */
const DRAINED_TOKENS = 160;

type Outcome = { finish: unknown; tokens: number; code?: unknown };

export type LongStreams = {
  long: Outcome;
  /** For each drained service: the outcome of a stream that was open when the service got SIGTERM, and the service's exit. */
  drained: { outcome: Outcome; exit: unknown }[];
};

/** Runs three streams: one that outlives its connection's maximum age, one while llm-proxy drains, and one while conversation drains. */
export async function runLongStreams(system: System): Promise<LongStreams> {
  const openStream = async (url: string, tokens: number): Promise<Response> => {
    const tenant = await createTenant(system.admin, { model: `openai:tokens-${tokens}-every-100` });
    return postChat(url, tenant, {}, { headers: { "x-forwarded-for": newClientAddress() } });
  };
  const readOutcome = async (response: Response): Promise<Outcome> => {
    const { text, done, error } = await readChat(response);
    // Counts words, because llm-proxy may coalesce several tokens into one event.
    return { finish: done?.finish_reason, tokens: text.trimEnd().split(" ").length, code: error?.code };
  };
  const startReplica = async (name: "llm-proxy" | "conversation", target: string) => {
    const replica = await system.startReplica(name);
    return { name, replica, edge: await system.startEdge({ [target]: `127.0.0.1:${replica.port}` }) };
  };
  const drain = async ({ name, replica, edge }: Awaited<ReturnType<typeof startReplica>>) => {
    // The sleep starts after the stream has opened, which may take seconds because other scenarios start at the same time.
    const streaming = readOutcome(await openStream(`http://127.0.0.1:${edge.port}`, DRAINED_TOKENS));
    await sleep(2_000);
    const exit = replica.process().stop("SIGTERM", 40_000);
    // The edge stores the turn's outcome through the restarted replica.
    if (name === "conversation") await exit.then(() => replica.start());
    return { outcome: await streaming, exit: await exit };
  };
  // All processes start before any stream opens, so that they take no CPU time from a stream's first calls, which have deadlines.
  const replicas = await Promise.all([
    startReplica("llm-proxy", "LLM_TARGET"),
    startReplica("conversation", "CONVERSATION_TARGET"),
  ]);
  const [long, ...drained] = await Promise.all([
    openStream(system.url(), LONG_TOKENS).then(readOutcome),
    ...replicas.map(drain),
  ]);
  return { long, drained };
}

export function longStreamsSuite(getLongStreams: () => Promise<LongStreams>): void {
  test("a stream outlives the maximum age of the connection between services", async () => {
    expect((await getLongStreams()).long).toEqual({ finish: "stop", tokens: LONG_TOKENS });
  });

  test("a stream completes while llm-proxy or conversation drains", async () => {
    for (const { outcome, exit } of (await getLongStreams()).drained) {
      expect(outcome).toEqual({ finish: "stop", tokens: DRAINED_TOKENS });
      expect(exit).toEqual({ code: 0, signal: null });
    }
  });
}
