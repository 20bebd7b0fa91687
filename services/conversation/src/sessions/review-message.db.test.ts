import { randomUUID } from "node:crypto";
import { Code } from "@connectrpc/connect";
import { SessionAdminService, TurnAdminService } from "@parley/rpc/conversation";
import { expect, test } from "vitest";
import { adminFailure, useTestSystem } from "../testing/system.ts";
import { createBot, newTurn, runTurn } from "../testing/turns.ts";

const system = useTestSystem();

/** Creates a session with two replies. */
async function createSession() {
  const bot = await createBot(system.database);
  const first = newTurn(bot);
  const messageIds = [BigInt(await runTurn(system.database, first))];
  messageIds.push(BigInt(await runTurn(system.database, newTurn(bot, { sessionId: first.sessionId }))));
  return { bot, workspaceId: bot.workspaceId, sessionId: first.sessionId, messageIds };
}

type Session = Awaited<ReturnType<typeof createSession>>;

const review = ({ workspaceId, sessionId }: Session, messageId: bigint | undefined, value: string) =>
  system
    .createAdminClient(SessionAdminService)
    .reviewMessage({ workspaceId, sessionId, messageId: messageId ?? 0n, review: value });

/** Returns the reviews of the sessions that a search with this filter finds. */
async function findReviews({ workspaceId }: Session, filter: string) {
  const request = { workspaceId, limit: 10, review: filter };
  const { sessions } = await system.sessions.listSessions(request, { timeoutMs: 5_000 });
  return sessions.map((session) => session.review);
}

test("a turn is listed with its review, and a session's review is bad if any reply's review is bad, whatever the visitor's rating", async () => {
  const session = await createSession();
  const { bot, workspaceId, sessionId, messageIds } = session;
  const [first = 0n, second = 0n] = messageIds;
  const rating = { workspaceId, botId: bot.id, sessionId, messageId: first, rating: "up" };
  await system.conversation.rateMessage(rating, { timeoutMs: 3_000 });
  const listRatingsAndReviews = async () =>
    (await system.createAdminClient(TurnAdminService).listTurns({ workspaceId, sessionId })).turns.map((turn) => [
      turn.rating,
      turn.review,
    ]);
  expect(await findReviews(session, "")).toEqual([""]);
  await review(session, first, "bad");
  await review(session, first, "bad");
  await review(session, second, "good");
  expect(await listRatingsAndReviews()).toEqual([
    ["up", "bad"],
    ["", "good"],
  ]);
  expect([await findReviews(session, "bad"), await findReviews(session, "good")]).toEqual([["bad"], []]);
  await review(session, first, "");
  expect(await listRatingsAndReviews()).toEqual([
    ["up", ""],
    ["", "good"],
  ]);
  expect([await findReviews(session, "bad"), await findReviews(session, "good")]).toEqual([[], ["good"]]);
  await review(session, second, "");
  expect([
    await findReviews(session, "bad"),
    await findReviews(session, "good"),
    await findReviews(session, ""),
  ]).toEqual([[], [], [""]]);
});

test("after concurrent reviews of a reply, the session's review counts agree with the stored review", async () => {
  const session = await createSession();
  const [first] = session.messageIds;
  await Promise.all(["good", "bad", "good", "bad", "", "good", "bad"].map((each) => review(session, first, each)));
  const { rows } = await system.admin.query(
    `SELECT s.reviews_good = count(*) FILTER (WHERE m.review = 'good') AS good, s.reviews_bad = count(*) FILTER (WHERE m.review = 'bad') AS bad
     FROM conversation.sessions s JOIN conversation.messages m USING (workspace_id, session_id)
     WHERE s.session_id = $1 GROUP BY s.reviews_good, s.reviews_bad`,
    [session.sessionId],
  );
  expect(rows).toEqual([{ good: true, bad: true }]);
});

test("ReviewMessage refuses unknown values, messages other than replies, and replies of other or deleted sessions; erasure resets the count of good reviews", async () => {
  const [session, other] = [await createSession(), await createSession()];
  const [first = 0n] = session.messageIds;
  expect(await adminFailure(review(session, first, "fine"))).toMatchObject({ code: Code.InvalidArgument });
  const missing = { code: Code.NotFound, parleyCode: "message_not_found" };
  for (const messageId of [0n, first - 1n, other.messageIds[0]])
    expect(await adminFailure(review(session, messageId, "good"))).toMatchObject(missing);
  for (const sessionId of [other.sessionId, randomUUID(), "no-uuid"])
    expect(await adminFailure(review({ ...session, sessionId }, first, "good"))).toMatchObject(missing);
  await review(session, first, "good");
  const { workspaceId, sessionId } = session;
  await system.createAdminClient(SessionAdminService).deleteSession({ workspaceId, sessionId });
  expect(await adminFailure(review(session, first, "bad"))).toMatchObject(missing);
  await system.createAdminClient(SessionAdminService).eraseSession({ workspaceId, sessionId });
  const { rows } = await system.admin.query("SELECT reviews_good FROM conversation.sessions WHERE session_id = $1", [
    sessionId,
  ]);
  expect(rows).toEqual([{ reviews_good: 0 }]);
});
