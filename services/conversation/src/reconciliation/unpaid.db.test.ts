import { RpcError, status } from "@parley/rpc";
import { expect, test } from "vitest";
import { deleteSettled } from "../settlement/outbox.store.ts";
import { useTestSystem } from "../testing/system.ts";
import { createBot, newTurn, runTurn } from "../testing/turns.ts";
import { compareUnpaidReplies, type ReconcileDeps, type Repair } from "./reconcile.service.ts";
import { compareUnpaid } from "./unpaid.service.ts";

const system = useTestSystem();
const DAY = "2026-11-30";
const UNPAID = { outcome: "cancelled", month: "2026-11", unpaidDay: DAY } as const;

/** Stores `count` unpaid replies of a new workspace, of which the last `waiting` are in the outbox. */
async function createUnpaid(count: number, waiting = 0): Promise<string> {
  const bot = await createBot(system.database);
  for (let i = 0; i < count; i++) {
    const turn = newTurn(bot);
    await runTurn(system.database, turn, UNPAID);
    if (i < count - waiting) await deleteSettled(system.database, [turn]);
  }
  return bot.workspaceId;
}

type Call = { day?: string; expected?: number | undefined; unpaid?: number | undefined };

/** A quota service that returns these numbers, and records the corrections. */
function fakeQuota(workspaceId: string, numbers: readonly number[], day = DAY) {
  let reads = 0;
  const corrections: Call[] = [];
  const quota = {
    async listUnpaid() {
      const unpaid = numbers[Math.min(reads++, numbers.length - 1)] ?? 0;
      return { day, workspaces: unpaid === 0 ? [] : [{ workspaceId, unpaid }] };
    },
    async correctUnpaid({ expected, unpaid }: Call) {
      corrections.push({ expected, unpaid });
      return { corrected: true };
    },
  };
  return { quota: quota as never, corrections };
}

async function repairWith(workspaceId: string, numbers: readonly number[]) {
  const { quota, corrections } = fakeQuota(workspaceId, numbers);
  const reported: Repair[] = [];
  const onRepaired = (repairs: readonly Repair[]) => void reported.push(...repairs);
  const deps: ReconcileDeps = { database: system.database, quota, notifySettler: () => undefined, onRepaired };
  const { repairs } = await compareUnpaidReplies(deps, { workspaceId, since: "", minAgeSeconds: 0 }, "");
  expect(reported).toEqual(repairs);
  return { repairs, corrections };
}

test.each([
  ["a lost number", 0],
  ["a number that is too low", 2],
  ["a number that is too high", 9],
])("corrects %s to that of the turns", async (_, counted) => {
  const workspaceId = await createUnpaid(4);
  const { repairs, corrections } = await repairWith(workspaceId, [counted]);
  expect(repairs).toEqual([{ workspaceId, turnId: "", kind: "unpaid_differs", action: "recount" }]);
  expect(corrections).toEqual([{ expected: counted, unpaid: 4 }]);
});

test.each([2, 3, 4])("with two of four replies in the outbox, the number %i is no difference", async (counted) => {
  expect(await repairWith(await createUnpaid(4, 2), [counted])).toEqual({ repairs: [], corrections: [] });
});

test("reports a number below that of the settled replies, but does not correct it while replies are in the outbox", async () => {
  const workspaceId = await createUnpaid(4, 2);
  const { quota } = fakeQuota(workspaceId, [1]);
  expect(await compareUnpaid(system.database, quota, workspaceId)).toMatchObject([
    { counted: 1, closed: 4, isCertain: false },
  ]);
  expect(await repairWith(workspaceId, [1])).toEqual({ repairs: [], corrections: [] });
});

test("compares the replies of the current day only", async () => {
  const workspaceId = await createUnpaid(1);
  const { quota } = fakeQuota(workspaceId, [0], "2026-12-01");
  expect(await compareUnpaid(system.database, quota, workspaceId)).toEqual([]);
  const failing = { listUnpaid: () => Promise.reject(new RpcError(status.UNAVAILABLE, "unavailable", "no")) };
  await expect(compareUnpaid(system.database, failing as never, workspaceId)).rejects.toThrow("no");
});
