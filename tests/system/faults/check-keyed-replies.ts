import { OUTCOMES, type TurnStatus } from "@parley/rpc/outcomes";
import { queryRows } from "@parley/test-support";
import type { Balance } from "../database.ts";
import type { System } from "../system.ts";
import { type KeyedMessage, type ReceivedReply, type ReplyEnd, readUntilEnd, sendKeyed } from "./resuming-visitor.ts";

/** A message with an idempotency key, and what its readers and stop requests received. */
export type KeyedVisit = KeyedMessage & {
  model: string;
  /** How reading ended for each reader. */
  readerResults: ReplyEnd[];
  /** The outcomes that the stop requests returned. */
  stopStatuses: string[];
  /** Whether runKeyedChaos may have erased the session. Readers may then receive no reply. */
  isErasureRequested: boolean;
};

/**
 * - `lost`: replies and outcomes that are missing or differ.
 * - `duplicated`: repeated text, turns and model calls, and wrong charges.
 * - `hung`: readers, turns and settlements without an end.
 * KeyedChaosResult has the details.
 */
export type KeyedReplyReport = { turns: number; lost: string[]; duplicated: string[]; hung: string[] };

type Problems = Omit<KeyedReplyReport, "turns">;
type StoredReply = { status: TurnStatus; content: string };

const REPLAY_TIMEOUT_MS = 10_000;

/**
 * Compares the replies that the readers received with the stored reply and with the model's text. Checks that:
 * - no session has more turns than idempotency keys;
 * - each done turn has one charge, and each other turn none;
 * - neither a replay nor a reused key adds a turn or a model call.
 */
export async function checkKeyedReplies(
  system: System,
  visits: readonly KeyedVisit[],
  balance: Balance,
): Promise<KeyedReplyReport> {
  const problems: Problems = { lost: [], duplicated: [], hung: [] };
  const requestsBefore = system.provider.requests.length;
  const storedReplies = await readStoredReplies(system);
  for (const visit of visits) await checkVisit(system, visit, storedReplies, problems);
  const additional = system.provider.requests.length - requestsBefore;
  if (additional > 0) problems.duplicated.push(`replays and reused keys called the model ${additional} times`);
  const turns = await checkTurns(system, visits, problems);
  problems.duplicated.push(...(await findWrongCharges(system)));
  checkBalance(balance, problems);
  return { turns, ...problems };
}

/** Returns the stored replies by "<session id> <message id>". */
async function readStoredReplies({ database }: System): Promise<Map<string, StoredReply>> {
  const rows = await queryRows<StoredReply & { id: string }>(
    database.url,
    `SELECT t.session_id || ' ' || t.message_id AS id, t.status, m.content
     FROM conversation.turns t JOIN conversation.messages m USING (workspace_id, session_id, message_id)`,
  );
  return new Map(rows.map(({ id, ...row }) => [id, row]));
}

async function checkVisit(
  system: System,
  visit: KeyedVisit,
  storedReplies: ReadonlyMap<string, StoredReply>,
  { lost, duplicated, hung }: Problems,
): Promise<void> {
  const describeProblem = (...values: unknown[]) => `${visit.model} ${visit.sessionId} ${JSON.stringify(values)}`;
  const replayed = await readUntilEnd(visit, {
    nextUrl: () => system.url(0),
    nextEventLimit: () => Number.POSITIVE_INFINITY,
    nextDelayMs: () => 100,
    timeoutMs: REPLAY_TIMEOUT_MS,
  });
  const received: ReceivedReply[] = [];
  for (const end of [...visit.readerResults, replayed]) {
    if ("hung" in end) hung.push(describeProblem(end));
    else if ("inconsistent" in end) duplicated.push(describeProblem(end));
    else if ("text" in end) received.push(end);
    else if (!visit.isErasureRequested) lost.push(describeProblem(end));
  }
  // `first` is undefined if every reader came after an erasure.
  const [first] = received;
  for (const reply of received)
    if (JSON.stringify(reply) !== JSON.stringify(first)) lost.push(describeProblem("replies differ", reply, first));
  if (first === undefined) return;
  const expected = textOfModel(visit);
  const isWhole = first.finishReason === "stop";
  if (isWhole ? first.text !== expected : !expected.startsWith(first.text))
    lost.push(describeProblem("not the model's text", first, expected));
  // The session was erased, and the stored reply with it.
  if ("gone" in replayed) return;
  const stored = storedReplies.get(`${visit.sessionId} ${first.messageId}`);
  if (stored === undefined || !equalsStored(stored, first))
    lost.push(describeProblem("not the stored reply", first, stored));
  for (const status of visit.stopStatuses)
    if (status !== stored?.status) lost.push(describeProblem("stopped with another outcome", status, stored));
  const reused = await sendWithSameKey(system, visit).catch(String);
  if (reused !== 409) duplicated.push(describeProblem("another message with the key", reused));
}

/** Sends another message with the visit's key. Returns the HTTP status. */
async function sendWithSameKey(system: System, visit: KeyedVisit): Promise<number> {
  const signal = AbortSignal.timeout(REPLAY_TIMEOUT_MS);
  const response = await sendKeyed(system.url(0), { ...visit, message: `${visit.message} again` }, { signal });
  await response.text();
  return response.status;
}

/** Returns whether a received reply equals the stored reply. An interrupted reply is replayed without its text. */
function equalsStored({ status, content }: StoredReply, { text, finishReason }: ReceivedReply): boolean {
  if (status === "streaming" || OUTCOMES[status].finishReason !== finishReason) return false;
  return text === (status === "interrupted" ? "" : content);
}

function textOfModel({ model, message }: KeyedVisit): string {
  if (model === "echo") return message;
  if (model === "cut-after-3") return "Hello from the";
  if (model === "split-utf8") return "Grüße 👋🏽 日本語 \u{1F468}\u200D\u{1F469}";
  const count = Number(/^tokens-(\d+)/.exec(model)?.[1]);
  return Array.from({ length: count }, (_, index) => `t${index} `).join("");
}

/** Reports sessions with more turns than sent keys. Ignores stored keys, because erasing deletes them. Returns the number of all turns. */
async function checkTurns({ database }: System, visits: readonly KeyedVisit[], problems: Problems): Promise<number> {
  const keyCounts = new Map<string, number>();
  for (const { sessionId } of visits) keyCounts.set(sessionId, (keyCounts.get(sessionId) ?? 0) + 1);
  const counts = await queryRows<{ sessionId: string; count: number }>(
    database.url,
    `SELECT session_id AS "sessionId", count(*)::integer AS count FROM conversation.turns GROUP BY session_id`,
  );
  for (const { sessionId, count } of counts)
    if (count > (keyCounts.get(sessionId) ?? 0)) problems.duplicated.push(`${sessionId} has ${count} turns`);
  return counts.reduce((sum, { count }) => sum + count, 0);
}

async function findWrongCharges({ database }: System): Promise<string[]> {
  const rows = await queryRows<{ turnId: string; status: string | null; charges: number }>(
    database.url,
    `SELECT turn_id AS "turnId", t.status, coalesce(l.charges, 0)::integer AS charges
     FROM conversation.turns t
     FULL JOIN (SELECT turn_id, count(*) AS charges FROM quota.ledger GROUP BY turn_id) l USING (turn_id)
     WHERE coalesce(l.charges, 0) <> CASE WHEN t.status = 'done' THEN 1 ELSE 0 END`,
  );
  return rows.map(({ turnId, status, charges }) => `turn ${turnId}, ${status}, has ${charges} charges`);
}

function checkBalance(balance: Balance, { duplicated, hung }: Problems): void {
  const { done, used, ledger, unbalanced, held, streaming, outbox } = balance;
  const isBalanced = done === used && used === ledger && unbalanced === 0;
  if (!isBalanced) duplicated.push(`usage does not balance: ${JSON.stringify(balance)}`);
  if (held + streaming + outbox > 0) hung.push(`not settled: ${JSON.stringify(balance)}`);
}
