import { expect, test } from "vitest";
import type { CallAdmin } from "../admin/call.ts";
import { runBilling, type SortKey } from "./billing.ts";

const WORKSPACES = [
  { id: "a", used: 5, cost: "0.5", lastWeek: 1, weekBefore: 4 },
  { id: "b", used: 9, cost: "10", lastWeek: 9, weekBefore: 2 },
  { id: "c", used: 5, cost: "9.0000000001", lastWeek: 8, weekBefore: 0 },
  { id: "d", used: 0, cost: "", lastWeek: 0, weekBefore: 0 },
];
const PAGE_SIZE = 2;

/** Answers as quota, llm-proxy and conversation do, with pages of two workspaces. */
const callAdmin = ((_service: unknown, call: (client: unknown) => unknown) =>
  call({
    listUsage: async ({ pageToken }: { pageToken: string }) => {
      const first = WORKSPACES.findIndex(({ id }) => id === pageToken) + 1;
      const workspaces = WORKSPACES.slice(first, first + PAGE_SIZE).map(({ id, used }) => ({
        ...{
          workspaceId: id,
          name: id.toUpperCase(),
          plan: "pro",
          cap: 10,
          used,
          held: 0,
          adjusted: 0,
          creditUsed: 0,
          overageUsed: 0,
        },
      }));
      const nextPageToken = workspaces.length === PAGE_SIZE ? workspaces.at(-1)?.workspaceId : "";
      return { month: "2026-11", workspaces, nextPageToken };
    },
    sumCalls: async ({ workspaceIds }: { workspaceIds: string[] }) => ({
      sums: WORKSPACES.filter(({ id, cost }) => workspaceIds.includes(id) && cost !== "").map(({ id, cost }) => ({
        workspaceId: id,
        cost,
      })),
    }),
    compareWeeks: async ({ workspaceIds }: { workspaceIds: string[] }) => ({
      workspaces: WORKSPACES.filter(({ id, lastWeek }) => workspaceIds.includes(id) && lastWeek > 0).map((each) => ({
        ...each,
        workspaceId: each.id,
      })),
    }),
  })) as CallAdmin;

const run = (sort?: SortKey, limit?: number) =>
  runBilling(callAdmin, { month: "", ...(sort && { sort }), limit }, () => undefined);

test.each([
  [undefined, ["a", "b", "c", "d"]],
  ["id", ["a", "b", "c", "d"]],
  ["cost", ["b", "c", "a", "d"]],
  ["used", ["b", "a", "c", "d"]],
  ["growth", ["c", "b", "d", "a"]],
] as const)("sorts the workspaces of all pages by %s, the highest first", async (sort, expected) => {
  const { workspaces } = await run(sort);
  expect(workspaces.map(({ id }) => id)).toEqual(expected);
});

test("a limit leaves out workspaces, but the totals cover all", async () => {
  const { workspaces, totals } = await run("cost", 1);
  expect(workspaces).toMatchObject([{ id: "b", name: "B", cost: "10" }]);
  expect(totals).toMatchObject({ used: 19, cost: "19.5000000001" });
});

test("only a run that sorts by growth has the replies of the two weeks, 0 for a workspace without replies", async () => {
  expect((await run("cost", 1)).workspaces[0]).not.toHaveProperty("last_week");
  const { workspaces, totals } = await run("growth");
  expect(totals).toMatchObject({ last_week: 18, week_before: 6 });
  expect(workspaces.map(({ last_week, week_before }) => [last_week, week_before])).toEqual([
    [8, 0],
    [9, 2],
    [0, 0],
    [1, 4],
  ]);
});
