import { randomUUID } from "node:crypto";
import { ServiceError } from "@parley/service-kit";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { eraseSession } from "../sessions/erase-session.store.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { createBot, newClosing, newTurn, runTurn } from "../testing/turns.ts";
import { closeTurn } from "../turns/close-turn.store.ts";
import { openHandoffTurn } from "../turns/open-handoff-turn.store.ts";
import { openTurn } from "../turns/open-turn.store.ts";
import { assignHandoff, expireHandoff, readHandoffState, resolveHandoff, takeHandoff } from "./handoff.store.ts";
import { storeAgentMessage } from "./handoff-messages.store.ts";

let db: TestDatabase;
let bot: Bot;
beforeAll(async () => {
  db = await createTestDatabase();
  bot = await createBot(db.database);
});
afterAll(() => db.drop());

const ANNA = { id: "a1", name: "Anna" };
const BEN = { id: "b2", name: "Ben" };
const ROUNDS = 60;

type Result = "changed" | "unchanged" | "to the bot" | "to the person" | "refused";
type Operations = Record<"take" | "message" | "resolve" | "stop" | "erase", () => Promise<Result>>;
type Name = keyof Operations;
const NAMES: readonly Name[] = ["take", "message", "resolve", "stop", "erase"];

const toResult = (value: unknown): Result => (value === undefined ? "unchanged" : "changed");

/** Starts a session whose bot is answering a message: `stop` cancels that reply, and `finish` ends it as its edge does. */
async function startSession() {
  const first = newTurn(bot);
  await runTurn(db.database, first);
  const { sessionId, workspaceId } = first;
  const key = { workspaceId, sessionId };
  const running = newTurn(bot, { sessionId });
  await openTurn(db.database, running);
  const message = newTurn(bot, { sessionId, message: "Now" });
  const operations: Operations = {
    take: async () => toResult(await takeHandoff(db.database, key, ANNA)),
    resolve: async () => toResult(await resolveHandoff(db.database, key)),
    stop: async () =>
      toResult(await closeTurn(db.database, newClosing(running, { outcome: "cancelled", month: undefined }))),
    erase: async () => toResult(await eraseSession(db.database, workspaceId, sessionId)),
    async message() {
      try {
        // As OpenTurn does, because the state may change between two statements.
        for (let attempt = 0; attempt < 3; attempt++) {
          if ((await openHandoffTurn(db.database, message)) !== undefined) return "to the person";
          if ((await openTurn(db.database, message)) === undefined) continue;
          await closeTurn(db.database, newClosing(message));
          return "to the bot";
        }
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
      }
      return "refused";
    },
  };
  const finish = () => closeTurn(db.database, newClosing(running));
  return { key, message, operations, finish };
}

/** Returns the result of each operation in this order, by the state table. */
function expectedResults(order: readonly Name[]): Result[] {
  let state: "bot" | "assigned" | "erased" = "bot";
  let isStreaming = true;
  const apply = (name: Name): Result => {
    if (name === "stop") {
      const result = isStreaming ? "changed" : "unchanged";
      isStreaming = false;
      return result;
    }
    if (state === "erased") return name === "message" ? "refused" : "unchanged";
    if (name === "message") return state === "assigned" ? "to the person" : "to the bot";
    const before = state;
    if (name === "take") state = "assigned";
    else if (name === "resolve") state = "bot";
    else {
      state = "erased";
      isStreaming = false;
    }
    return state === before ? "unchanged" : "changed";
  };
  return order.map(apply);
}

function permutations(names: readonly Name[]): Name[][] {
  if (names.length === 0) return [[]];
  return names.flatMap((name) => permutations(names.filter((each) => each !== name)).map((rest) => [name, ...rest]));
}

/** Checks that no turn is left streaming, and that the turns, the messages and the outbox agree. */
async function expectConsistent(): Promise<void> {
  const { rows } = await db.admin.query(`
    SELECT t.turn_id, t.status, 'streaming' AS problem FROM conversation.turns t WHERE t.status = 'streaming'
    UNION ALL
    -- A turn of a handoff has no reply; each other turn of a session that is not erased has one.
    SELECT t.turn_id, t.status, 'reply' FROM conversation.turns t JOIN conversation.sessions s USING (workspace_id, session_id)
    LEFT JOIN conversation.messages r ON r.workspace_id = t.workspace_id AND r.session_id = t.session_id AND r.message_id = t.message_id
    WHERE s.erased_at IS NULL AND (t.status = 'handoff') <> (r.message_id IS NULL)
    UNION ALL
    -- The quota settles each turn that may hold a message, and no turn of a handoff.
    SELECT t.turn_id, t.status, 'outbox' FROM conversation.turns t LEFT JOIN conversation.outbox o USING (workspace_id, turn_id)
    WHERE (t.status = 'handoff') <> (o.turn_id IS NULL)
    UNION ALL
    SELECT s.session_id, NULL, 'count' FROM conversation.sessions s WHERE s.erased_at IS NULL AND s.message_count <> (
      SELECT count(*) FROM conversation.messages m WHERE m.workspace_id = s.workspace_id AND m.session_id = s.session_id)`);
  expect(rows).toEqual([]);
}

test("in each order, take, message, resolve, stop and erase do what the state table says", async () => {
  const orders = permutations(NAMES);
  expect(orders).toHaveLength(120);
  for (const order of orders) {
    const { operations, finish } = await startSession();
    const results: Result[] = [];
    for (const name of order) results.push(await operations[name]());
    await finish();
    expect({ order, results }).toEqual({ order, results: expectedResults(order) });
  }
  await expectConsistent();
});

test("at the same time, their results are those of one of the orders", async () => {
  const tell = (resultOf: (name: Name) => Result | undefined) => NAMES.map(resultOf).join(", ");
  const allowed = permutations(NAMES).map((order) => {
    const results = expectedResults(order);
    return tell((name) => results[order.indexOf(name)]);
  });
  const seen = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const { operations, finish } = await startSession();
    const results = await runAtOnce(NAMES, operations);
    await finish();
    const told = tell((name) => results.get(name));
    expect(allowed).toContain(told);
    seen.add(told);
  }
  console.info(`${seen.size} different results of ${new Set(allowed).size} in ${ROUNDS} rounds`);
  expect(seen.size).toBeGreaterThan(1);
  await expectConsistent();
});

test("at the same time as a takeover, the bot gets a message only before the takeover, and a person only after it", async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const { key, message, operations, finish } = await startSession();
    const results = await runAtOnce(["take", "message", "stop"], operations);
    await finish();
    expect(results.get("take")).toBe("changed");
    expect((await readHandoffState(db.database, key))?.state).toBe("assigned");
    const { rows } = await db.admin.query(
      `SELECT t.status, t.opened_at <= s.handoff_at AS "isBefore" FROM conversation.turns t
       JOIN conversation.sessions s USING (workspace_id, session_id) WHERE t.turn_id = $1`,
      [message.turnId],
    );
    const isToBot = results.get("message") === "to the bot";
    expect(rows).toEqual([{ status: isToBot ? "done" : "handoff", isBefore: isToBot }]);
  }
  await expectConsistent();
});

test("at the same time as the end of the visitor's wait, one of take, answer, assignment and resolution wins", async () => {
  const seen = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const { key, operations, finish } = await startSession();
    await operations.stop();
    await finish();
    await takeHandoff(db.database, key, ANNA);
    await operations.message();
    await db.admin.query(
      "UPDATE conversation.sessions SET handoff_expires_at = now() - interval '1 s' WHERE session_id = $1",
      [key.sessionId],
    );
    const other = (["answer", "assign", "resolve"] as const)[round % 3] ?? "answer";
    const answer = { requestId: randomUUID(), text: "Here I am.", agentId: ANNA.id, agentName: ANNA.name };
    const both: Record<typeof other | "expire" | "take", () => Promise<Result>> = {
      expire: async () => toResult(await expireHandoff(db.database, key)),
      answer: async () => toResult(await storeAgentMessage(db.database, { ...key, ...answer })),
      assign: async () => toResult(await assignHandoff(db.database, key, BEN)),
      resolve: async () => toResult(await resolveHandoff(db.database, key)),
      take: async () => toResult(await takeHandoff(db.database, key, BEN)),
    };
    const results = await runAtOnce(["expire", other], both);
    const isExpired = results.get("expire") === "changed";
    seen.add(`${other} ${isExpired}`);
    const state = await readHandoffState(db.database, key);
    if (other === "assign") {
      // After the expiry, the assignment is a new takeover.
      expect(results.get("assign")).toBe("changed");
      expect(state).toMatchObject({ state: "assigned", agentId: BEN.id });
    } else {
      expect(results.get(other)).toBe(isExpired ? "unchanged" : "changed");
      expect(state).toMatchObject(
        isExpired
          ? { state: "bot", reason: "unanswered" }
          : other === "answer"
            ? { state: "assigned", agentId: ANNA.id }
            : { state: "bot", reason: "resolved" },
      );
    }
    // A colleague can take exactly a session that nobody has.
    expect(await both.take()).toBe(state?.state === "bot" ? "changed" : "unchanged");
  }
  console.info(`${[...seen].toSorted()} in ${ROUNDS} rounds`);
  expect(seen.size).toBeGreaterThan(3);
  await expectConsistent();
});

/** Starts the operations at the same time, in a random order. */
async function runAtOnce<N extends string>(
  names: readonly N[],
  operations: Readonly<Record<N, () => Promise<Result>>>,
): Promise<Map<N, Result>> {
  const shuffled = names.map((name) => ({ name, order: Math.random() })).sort((a, b) => a.order - b.order);
  const results = new Map<N, Result>();
  await Promise.all(shuffled.map(async ({ name }) => void results.set(name, await operations[name]())));
  return results;
}
