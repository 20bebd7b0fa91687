import { randomInt, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { startTcpProxy, type TcpProxy } from "@parley/test-support";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { databaseOf, queryFirstRow } from "../../system/database.ts";
import type { System, Tenant } from "../../system/system.ts";
import { buildRetryExamples } from "../generated-client.ts";

const REPLIES = 6;
/** How many times the test cuts all connections. Fewer than 10, because the documented client gives up a reply after 10 requests. */
const CUTS = 7;
const SUITE_NAME = "the client that Hey API generates from openapi.json";

type GetContext = () => { system: System; tenant: Tenant; replyText: string };

/** Starts a proxy in front of the running edges before the tests. */
function useProxy(getContext: GetContext) {
  let proxy: TcpProxy;
  let connections = 0;
  beforeAll(async () => {
    const { system, tenant } = getContext();
    const choosePort = () => {
      // The proxy calls this function once for each connection.
      connections++;
      // Earlier tests may have stopped some edges. Requests to them would use up the client's ten attempts.
      const running = system.edges.filter((edge) => edge.process().isRunning());
      return running[randomInt(running.length)]?.port ?? 0;
    };
    proxy = await startTcpProxy({ targetPort: choosePort });
    vi.stubGlobal("location", { origin: tenant.origin });
  });
  afterAll(async () => {
    vi.unstubAllGlobals();
    await proxy.close();
  });

  const url = () => `http://127.0.0.1:${proxy.port}`;
  const newBody = () => ({ public_key: getContext().tenant.publicKey, session_id: randomUUID(), message: "Hello?" });
  const countTurns = async (bodies: readonly { session_id: string }[]) => {
    const { system, tenant } = getContext();
    const { count } = await queryFirstRow<{ count: number }>(
      databaseOf(system, tenant.workspaceId),
      "SELECT count(*)::integer AS count FROM conversation.turns WHERE session_id = ANY ($1)",
      [bodies.map(({ session_id }) => session_id)],
    );
    return count;
  };

  /** Sends a message without an idempotency key, and disconnects once during its reply. Returns the client's result and the number of turns. */
  const disconnectOnce = async (edit?: (code: string) => string) => {
    const { readReplyOnce } = await buildRetryExamples(url(), edit);
    const body = newBody();
    const reply = readReplyOnce(body).then(
      () => "complete",
      (error: Error) => error.message,
    );
    const countTokens = () => getContext().system.provider.requests[0]?.tokensSent ?? 0;
    await expect.poll(countTokens, { timeout: 20_000 }).toBeGreaterThanOrEqual(3);
    proxy.resetAll();
    return { result: await reply, turns: await countTurns([body]) };
  };

  return {
    url,
    newBody,
    countTurns,
    disconnectOnce,
    countConnections: () => connections,
    disconnectAll: () => proxy.resetAll(),
  };
}

/** Tests of docs/retries.md's examples with the client that Hey API generates, through a network that fails. */
export function generatedClientSuite(getContext: GetContext): void {
  describe(SUITE_NAME, () => {
    const { url, newBody, countTurns, disconnectOnce, countConnections, disconnectAll } = useProxy(getContext);

    test("with an idempotency key, loses no text, duplicates none and opens no second turn when it is disconnected at random", async () => {
      const { readReply } = await buildRetryExamples(url());
      const { system, replyText } = getContext();
      const bodies = Array.from({ length: REPLIES }, newBody);
      const connectionsBefore = countConnections();
      const replies = Promise.all(bodies.map((body) => readReply(body, randomUUID())));
      for (let cut = 0; cut < CUTS; cut++) {
        await sleep(randomInt(50, 600));
        disconnectAll();
      }
      expect(await replies).toEqual(bodies.map(() => replyText));
      expect(countConnections() - connectionsBefore).toBeGreaterThan(REPLIES);
      expect(await countTurns(bodies)).toBe(REPLIES);
      expect(system.provider.requests).toHaveLength(REPLIES);
    });

    test("without an idempotency key, opens no second turn with sseMaxRetryAttempts: 1", async () => {
      expect(await disconnectOnce()).toEqual({ result: "the reply is incomplete", turns: 1 });
    });
  });
}

/** Tests that the documented setting `sseMaxRetryAttempts: 1` is needed: without it, the generated client repeats requests without a limit. */
export function unlimitedRetriesSuite(getContext: GetContext): void {
  describe(SUITE_NAME, () => {
    const { disconnectOnce } = useProxy(getContext);

    test("without an idempotency key and without sseMaxRetryAttempts, opens a second turn", async () => {
      const setting = "sseMaxRetryAttempts: 1,";
      const edit = (code: string) => code.replace(setting, "sseDefaultRetryDelay: 100,");
      expect(await disconnectOnce(edit)).toEqual({ result: "complete", turns: 2 });
    });
  });
}
