import { randomUUID } from "node:crypto";
import type { ReservationStateName, SettleOutcomeName } from "@parley/rpc/outcomes";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createQuotaDatabase, createWorkspace, type QuotaDatabase, usageOf } from "../testing/quota-database.ts";
import { reserve } from "./reservations.store.ts";
import { settle } from "./settlements.store.ts";

const CAP = 3;
const TURNS = 6;

/** The expected state of each turn by its id. */
type Model = { states: Map<string, ReservationStateName> };
type Real = { quota: QuotaDatabase; workspace: string; turns: string[] };

let quota: QuotaDatabase;
beforeAll(async () => {
  quota = await createQuotaDatabase();
});
afterAll(() => quota.drop());

const countState = ({ states }: Model, state: string) => [...states.values()].filter((each) => each === state).length;

class Reserve implements fc.AsyncCommand<Model, Real> {
  readonly turn: number;
  constructor(turn: number) {
    this.turn = turn;
  }
  check = () => true;
  async run(model: Model, { quota, workspace, turns }: Real): Promise<void> {
    const id = turns[this.turn] ?? "";
    const state = model.states.get(id);
    const isFull = countState(model, "held") + countState(model, "done") >= CAP;
    const expected = state === "held" ? "held" : state !== undefined ? "settled" : isFull ? "exceeded" : "held";
    // Three concurrent calls have one effect and return the same result.
    const results = await Promise.all([1, 2, 3].map(() => reserve(quota.database, workspace, id)));
    expect(results.map((result) => result?.status)).toEqual([expected, expected, expected]);
    if (expected === "held") model.states.set(id, "held");
  }
  toString = () => `reserve(${this.turn})`;
}

class Settle implements fc.AsyncCommand<Model, Real> {
  readonly outcomes: [turn: number, outcome: SettleOutcomeName][];
  constructor(outcomes: [turn: number, outcome: SettleOutcomeName][]) {
    this.outcomes = outcomes;
  }
  check = () => true;
  async run(model: Model, { quota, workspace, turns }: Real): Promise<void> {
    const batch = this.outcomes.map(([turn, outcome]) => ({
      workspaceId: workspace,
      turnId: turns[turn] ?? "",
      outcome,
      month: undefined,
    }));
    for (const { turnId, outcome } of batch) {
      const state = model.states.get(turnId);
      if (state === undefined || state === "held") model.states.set(turnId, outcome);
    }
    await settle(quota.database, batch);
    for (const { turnId, outcome } of await settle(quota.database, batch))
      expect(outcome).toBe(model.states.get(turnId));
  }
  toString = () => `settle(${JSON.stringify(this.outcomes)})`;
}

test("usage matches a simple model after any sequence of repeated Reserve and Settle calls", async () => {
  const turn = fc.nat(TURNS - 1);
  const outcome = fc.constantFrom<SettleOutcomeName>("done", "void");
  const commands = fc.commands(
    [
      turn.map((each) => new Reserve(each)),
      fc.array(fc.tuple(turn, outcome), { minLength: 1, maxLength: 4 }).map((each) => new Settle(each)),
    ],
    { maxCommands: 25 },
  );
  await fc.assert(
    fc.asyncProperty(commands, async (sequence) => {
      const workspace = await createWorkspace(quota, CAP);
      const model: Model = { states: new Map() };
      const real = { quota, workspace, turns: Array.from({ length: TURNS }, () => randomUUID()) };
      await fc.asyncModelRun(() => ({ model, real }), sequence);
      const done = countState(model, "done");
      const held = countState(model, "held");
      expect(await usageOf(quota, workspace)).toEqual({
        usedCounter: done,
        heldCounter: held,
        ledgerRows: done,
        doneReservations: done,
        heldReservations: held,
      });
    }),
    { numRuns: process.env.PARLEY_TEST_FULL ? 500 : 40 },
  );
});
