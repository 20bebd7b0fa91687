import { randomUUID } from "node:crypto";
import { sqlState } from "@parley/service-kit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { booksOf, createTestBooks, createWorkspace, type TestBooks } from "../testing/quota-database.ts";
import { updatePlan } from "../workspaces/workspaces.store.ts";
import { reserve, type Settlement, settle } from "./reservations.store.ts";
import { readMonth, readUsage } from "./usage.store.ts";

let books: TestBooks;
beforeAll(async () => {
  books = await createTestBooks();
});
afterAll(() => books.drop());

const settlement = (workspaceId: string, turnId: string, outcome: "done" | "void", month?: string): Settlement => ({
  workspaceId,
  turnId,
  outcome,
  month,
});
const thisMonth = new Date().toISOString().slice(0, 7);

describe("Reserve", () => {
  test("never holds more than the cap, however many ask at once", async () => {
    const workspace = await createWorkspace(books, 25);
    const answers = await Promise.all(
      Array.from({ length: 300 }, () => reserve(books.database, workspace, randomUUID())),
    );
    expect(answers.filter((answer) => answer?.status === "held")).toHaveLength(25);
    const refused = answers.filter((answer) => answer?.status === "exceeded");
    expect(refused).toHaveLength(275);
    for (const answer of refused) expect(answer).toMatchObject({ used: 25, cap: 25 });
    expect(await booksOf(books, workspace)).toMatchObject({ used: 0, held: 25, holds: 25 });
  });

  test("holds one message for a turn that asks a hundred times at once", async () => {
    const workspace = await createWorkspace(books, 25);
    const turn = randomUUID();
    const answers = await Promise.all(Array.from({ length: 100 }, () => reserve(books.database, workspace, turn)));
    for (const answer of answers) expect(answer).toMatchObject({ status: "held", month: thisMonth });
    expect(await booksOf(books, workspace)).toMatchObject({ held: 1, holds: 1 });
  });

  test("a turn that asks many times at once for the last message holds it in every answer", async () => {
    for (let round = 0; round < 20; round++) {
      const workspace = await createWorkspace(books, 1);
      const turn = randomUUID();
      const answers = await Promise.all(Array.from({ length: 10 }, () => reserve(books.database, workspace, turn)));
      for (const answer of answers) expect(answer).toMatchObject({ status: "held", month: thisMonth });
    }
  });

  test("answers a turn that holds the last message as before, also when the cap is reached", async () => {
    const workspace = await createWorkspace(books, 1);
    const turn = randomUUID();
    expect(await reserve(books.database, workspace, turn)).toMatchObject({ status: "held" });
    expect(await reserve(books.database, workspace, randomUUID())).toMatchObject({ status: "exceeded" });
    expect(await reserve(books.database, workspace, turn)).toMatchObject({ status: "held", month: thisMonth });
  });

  test("knows no workspace that was never created", async () => {
    expect(await reserve(books.database, "ws_nobody", randomUUID())).toBeUndefined();
  });

  test("a plan without messages is always exhausted, and a new plan holds at once", async () => {
    const workspace = await createWorkspace(books, 0);
    expect(await reserve(books.database, workspace, randomUUID())).toMatchObject({
      status: "exceeded",
      used: 0,
      cap: 0,
    });
    await updatePlan(books.database, workspace, "free");
    expect(await reserve(books.database, workspace, randomUUID())).toMatchObject({ status: "held", cap: 100 });
  });

  test("a smaller plan refuses at once, and says that its own cap is used", async () => {
    const workspace = await createWorkspace(books, 25);
    const turns = Array.from({ length: 10 }, () => randomUUID());
    for (const turn of turns) await reserve(books.database, workspace, turn);
    await books.admin.query("INSERT INTO quota.plans VALUES ('cap-5', 5) ON CONFLICT DO NOTHING");
    await updatePlan(books.database, workspace, "cap-5");
    expect(await reserve(books.database, workspace, randomUUID())).toMatchObject({
      status: "exceeded",
      used: 5,
      cap: 5,
    });
  });
});

describe("Settle", () => {
  test("counts a done turn once, however often and in whatever company it is told", async () => {
    const workspace = await createWorkspace(books, 100);
    const turns = Array.from({ length: 40 }, () => randomUUID());
    for (const turn of turns) await reserve(books.database, workspace, turn);
    const batch = turns.map((turn) => settlement(workspace, turn, "done", thisMonth));
    const shuffled = Array.from({ length: 12 }, (_, i) => [
      ...batch.slice(i * 3),
      ...batch.slice(0, i * 3),
      ...batch.slice(0, 5),
    ]);
    await Promise.all(shuffled.map((each) => settle(books.database, each)));
    const answers = await settle(books.database, batch);
    expect(answers).toHaveLength(40);
    for (const answer of answers) expect(answer.outcome).toBe("done");
    expect(await booksOf(books, workspace)).toEqual({ used: 40, held: 0, ledger: 40, done: 40, holds: 0 });
  });

  test("gives a void turn's message back, so that another can have it", async () => {
    const workspace = await createWorkspace(books, 1);
    const turn = randomUUID();
    await reserve(books.database, workspace, turn);
    await settle(books.database, [settlement(workspace, turn, "void")]);
    expect(await booksOf(books, workspace)).toEqual({ used: 0, held: 0, ledger: 0, done: 0, holds: 0 });
    expect(await reserve(books.database, workspace, randomUUID())).toMatchObject({ status: "held" });
  });

  test("the first outcome stands, whatever comes later", async () => {
    const workspace = await createWorkspace(books, 10);
    const [counted, voided] = [randomUUID(), randomUUID()];
    for (const turn of [counted, voided]) await reserve(books.database, workspace, turn);
    await settle(books.database, [
      settlement(workspace, counted, "done", thisMonth),
      settlement(workspace, voided, "void"),
    ]);
    const late = await settle(books.database, [
      settlement(workspace, counted, "void"),
      settlement(workspace, voided, "done", thisMonth),
    ]);
    expect(new Map(late.map((each) => [each.turnId, each.outcome]))).toEqual(
      new Map([
        [counted, "done"],
        [voided, "void"],
      ]),
    );
    expect(await booksOf(books, workspace)).toMatchObject({ used: 1, held: 0, ledger: 1 });
  });

  test("a reservation that comes after its turn was voided holds nothing", async () => {
    const workspace = await createWorkspace(books, 10);
    const turn = randomUUID();
    await settle(books.database, [settlement(workspace, turn, "void")]);
    expect(await reserve(books.database, workspace, turn)).toMatchObject({ status: "settled" });
    expect(await booksOf(books, workspace)).toMatchObject({ used: 0, held: 0, holds: 0 });
  });

  test("a done turn without a hold is counted in the month it carries", async () => {
    const workspace = await createWorkspace(books, 10);
    const turn = randomUUID();
    for (let i = 0; i < 2; i++) await settle(books.database, [settlement(workspace, turn, "done", "2026-03")]);
    expect(await readUsage(books.database, workspace, "2026-03")).toMatchObject({ used: 1, held: 0, month: "2026-03" });
    expect(await readMonth(books.database, workspace, "2026-03")).toMatchObject([
      { workspaceId: workspace, used: 1, held: 0, ledger: 1 },
    ]);
  });

  test("a hold keeps the month it was made in, whatever month the settlement carries", async () => {
    const workspace = await createWorkspace(books, 10);
    const turn = randomUUID();
    await reserve(books.database, workspace, turn);
    await books.admin.query("UPDATE quota.reservations SET month = '2026-01-01' WHERE turn_id = $1", [turn]);
    await books.admin.query("UPDATE quota.usage SET month = '2026-01-01' WHERE workspace_id = $1", [workspace]);
    await settle(books.database, [settlement(workspace, turn, "done", "2026-02")]);
    expect(await readUsage(books.database, workspace, "2026-01")).toMatchObject({ used: 1, held: 0 });
    expect(await readUsage(books.database, workspace, "2026-02")).toMatchObject({ used: 0, held: 0 });
  });

  test("reservations and settlements of the same turns at once leave the books balanced", async () => {
    const workspaces = await Promise.all(Array.from({ length: 4 }, () => createWorkspace(books, 1_000)));
    const turns = Array.from({ length: 200 }, (_, i) => ({ workspace: workspaces[i % 4] ?? "", turn: randomUUID() }));
    const work = turns.flatMap(({ workspace, turn }, i) => {
      const done = settlement(workspace, turn, i % 3 === 0 ? "void" : "done", thisMonth);
      const other = turns[(i + 7) % turns.length];
      const companion = settlement(other?.workspace ?? "", other?.turn ?? "", "void");
      return [
        () => reserve(books.database, workspace, turn),
        () => settle(books.database, [done, companion]),
        () => reserve(books.database, workspace, turn),
        () => settle(books.database, [companion, done]),
      ];
    });
    await Promise.all(work.map((each) => each()));
    for (const workspace of workspaces) {
      const { used, held, ledger, done, holds } = await booksOf(books, workspace);
      expect({ used, held }).toEqual({ used: done, held: holds });
      expect(ledger).toBe(done);
      expect(holds).toBe(0);
    }
  });
});

test("a turn that is settled while its own reservation is on its way makes nobody wait in a circle", async () => {
  const workspace = await createWorkspace(books, 100_000);
  await reserve(books.database, workspace, randomUUID());
  const failures: (string | undefined)[] = [];
  const database = new Proxy(books.database, {
    get(target, name) {
      if (name !== "query") return Reflect.get(target, name, target);
      return async (...given: unknown[]) => {
        try {
          return await Reflect.apply(target.query, target, given);
        } catch (error) {
          failures.push(sqlState(error));
          throw error;
        }
      };
    },
  });
  for (let round = 0; round < 30; round++) {
    const turns = Array.from({ length: 12 }, () => randomUUID());
    const batch = turns.map((turn) => settlement(workspace, turn, "void"));
    await Promise.all([
      ...turns.map((turn) => reserve(database, workspace, turn)),
      settle(database, batch),
      settle(database, batch.toReversed()),
    ]);
    await settle(database, batch);
  }
  expect(await booksOf(books, workspace)).toMatchObject({ used: 0, held: 1, holds: 1 });
  expect(failures).not.toContain("40P01");
});

test("the service's role cannot touch what is not its own", async () => {
  await books.admin.query("CREATE SCHEMA IF NOT EXISTS other; CREATE TABLE IF NOT EXISTS other.secrets (id integer)");
  await expect(books.database.query("SELECT * FROM other.secrets")).rejects.toThrow("permission denied");
  await expect(books.database.query("DROP TABLE quota.ledger")).rejects.toThrow("must be owner");
  await expect(books.database.query("CREATE TABLE quota.mine (id integer)")).rejects.toThrow("permission denied");
});
