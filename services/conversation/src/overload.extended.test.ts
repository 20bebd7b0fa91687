import { setTimeout as sleep } from "node:timers/promises";
import { status } from "@parley/rpc";
import { expect, test } from "vitest";
import { lockTables } from "./testing/sessions.ts";
import { rpcFailure, useTestSystem } from "./testing/system.ts";
import { createBot, newOpenRequest } from "./testing/turns.ts";

const system = useTestSystem();

test("a new turn is refused immediately if another call has already waited 5 s for a database connection", async () => {
  const bot = await createBot(system.database);
  const unlock = await lockTables(system.admin, "conversation.sessions");
  const requests = Array.from({ length: 20 }, () => newOpenRequest(bot));
  const results = Promise.allSettled(requests.map((each) => system.conversation.openTurn(each, { timeoutMs: 20_000 })));
  await sleep(5_500);
  // A call that waited for a database connection would get none before the lock is released, and would end at its deadline.
  const failure = await rpcFailure(system.conversation.openTurn(newOpenRequest(bot), { timeoutMs: 9_000 }));
  expect(failure).toMatchObject({ status: status.RESOURCE_EXHAUSTED, code: "overloaded" });
  await unlock();
  expect((await results).every(({ status: result }) => result === "fulfilled")).toBe(true);
  await system.conversation.openTurn(newOpenRequest(bot), { timeoutMs: 5_000 });
});
