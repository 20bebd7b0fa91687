import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { booksOf, createTestBooks, createWorkspace, type TestBooks } from "../testing/quota-database.ts";
import { type Outcome, reserve, settle } from "./reservations.store.ts";

const CAP = 3;
const TURNS = 6;

/** What the books must say, told without a database. */
type Model = { states: Map<string, "held" | Outcome> };
type Real = { books: TestBooks; workspace: string; turns: string[] };

let books: TestBooks;
beforeAll(async () => {
  books = await createTestBooks();
});
afterAll(() => books.drop());

const counted = ({ states }: Model, state: string) => [...states.values()].filter((each) => each === state).length;

class Reserve implements fc.AsyncCommand<Model, Real> {
  readonly turn: number;
  constructor(turn: number) {
    this.turn = turn;
  }
  check = () => true;
  async run(model: Model, { books, workspace, turns }: Real): Promise<void> {
    const id = turns[this.turn] ?? "";
    const standing = model.states.get(id);
    const isFull = counted(model, "held") + counted(model, "done") >= CAP;
    const expected = standing === "held" ? "held" : standing !== undefined ? "settled" : isFull ? "exceeded" : "held";
    // Asked three times at once: one effect, one answer.
    const answers = await Promise.all([1, 2, 3].map(() => reserve(books.database, workspace, id)));
    expect(answers.map((answer) => answer?.status)).toEqual([expected, expected, expected]);
    if (expected === "held") model.states.set(id, "held");
  }
  toString = () => `reserve(${this.turn})`;
}

class Settle implements fc.AsyncCommand<Model, Real> {
  readonly outcomes: [turn: number, outcome: Outcome][];
  constructor(outcomes: [turn: number, outcome: Outcome][]) {
    this.outcomes = outcomes;
  }
  check = () => true;
  async run(model: Model, { books, workspace, turns }: Real): Promise<void> {
    const batch = this.outcomes.map(([turn, outcome]) => ({
      workspaceId: workspace,
      turnId: turns[turn] ?? "",
      outcome,
      month: undefined,
    }));
    for (const { turnId, outcome } of batch) {
      const standing = model.states.get(turnId);
      if (standing === undefined || standing === "held") model.states.set(turnId, outcome);
    }
    await settle(books.database, batch);
    for (const { turnId, outcome } of await settle(books.database, batch))
      expect(outcome).toBe(model.states.get(turnId));
  }
  toString = () => `settle(${JSON.stringify(this.outcomes)})`;
}

test("whatever is reserved and settled, in any order and repeatedly, the books say what a simple model says", async () => {
  const turn = fc.nat(TURNS - 1);
  const outcome = fc.constantFrom<Outcome>("done", "void");
  const commands = fc.commands(
    [
      turn.map((each) => new Reserve(each)),
      fc.array(fc.tuple(turn, outcome), { minLength: 1, maxLength: 4 }).map((each) => new Settle(each)),
    ],
    { maxCommands: 25 },
  );
  await fc.assert(
    fc.asyncProperty(commands, async (each) => {
      const workspace = await createWorkspace(books, CAP);
      const model: Model = { states: new Map() };
      const real = { books, workspace, turns: Array.from({ length: TURNS }, () => randomUUID()) };
      await fc.asyncModelRun(() => ({ model, real }), each);
      const done = counted(model, "done");
      const held = counted(model, "held");
      expect(await booksOf(books, workspace)).toEqual({ used: done, held, ledger: done, done, holds: held });
    }),
    { numRuns: process.env.PARLEY_TEST_FULL ? 500 : 40 },
  );
});
