import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { useTestSystem } from "../testing/system.ts";
import { forgetAgents } from "./agents.store.ts";

const system = useTestSystem();
const ANNA = { id: "a1", name: "Anna" };
const BEN = { id: "b2", name: "ben" };

/** Returns what lists the colleagues of a new workspace, for one of them or for nobody. */
function newWorkspace() {
  const workspaceId = `ws-${randomUUID()}`;
  const list = async (follower?: typeof ANNA) => {
    const { colleagues } = await system.handoffs.listHandoffs(
      { workspaceId, ...(follower && { follower }) },
      { timeoutMs: 5_000 },
    );
    return colleagues.map(({ agent, isHere }) => ({ id: agent?.id, name: agent?.name, isHere }));
  };
  const age = (id: string, interval: string) =>
    system.admin.query(
      "UPDATE conversation.agents SET seen_at = seen_at - $3::interval WHERE workspace_id = $1 AND agent_id = $2",
      [workspaceId, id, interval],
    );
  const rows = async () =>
    (
      await system.admin.query("SELECT agent_id, seen_at FROM conversation.agents WHERE workspace_id = $1", [
        workspaceId,
      ])
    ).rows as { agent_id: string; seen_at: Date }[];
  const storedIds = async () => (await rows()).map((row) => row.agent_id);
  const seenAt = async () => (await rows())[0]?.seen_at ?? new Date(0);
  return { list, age, storedIds, seenAt };
}

test("the people who follow the list are colleagues by name, of their own workspace only, with their latest name", async () => {
  const [own, other] = [newWorkspace(), newWorkspace()];
  expect(await own.list()).toEqual([]);
  await own.list(BEN);
  expect(await own.list(ANNA)).toEqual([
    { ...ANNA, isHere: true },
    { ...BEN, isHere: true },
  ]);
  expect(await other.list()).toEqual([]);
  await own.list({ ...ANNA, name: "Zoe" });
  expect((await own.list()).map(({ name }) => name)).toEqual(["ben", "Zoe"]);
});

test("a colleague who follows no longer is away after 30 s, is back with the next list, and is forgotten after 30 days", async () => {
  const { list, age, storedIds } = newWorkspace();
  await list(ANNA);
  await age(ANNA.id, "31 s");
  expect(await list()).toEqual([{ ...ANNA, isHere: false }]);
  expect(await list(ANNA)).toEqual([{ ...ANNA, isHere: true }]);
  await list(BEN);
  await age(ANNA.id, "31 days");
  expect(await list()).toEqual([{ ...BEN, isHere: true }]);
  await forgetAgents(system.database);
  expect(await storedIds()).toEqual([BEN.id]);
});

test("an open inbox is stored at most every 10 s, unless the name changes", async () => {
  const { list, age, storedIds, seenAt } = newWorkspace();
  await list(ANNA);
  const first = await seenAt();
  await list(ANNA);
  expect(await seenAt()).toEqual(first);
  await age(ANNA.id, "11 s");
  await list(ANNA);
  expect((await seenAt()).getTime()).toBeGreaterThan(first.getTime());
  expect(await storedIds()).toEqual([ANNA.id]);
});
