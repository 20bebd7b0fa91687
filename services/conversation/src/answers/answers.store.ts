import { type Database, type Queryable, workspaceTransaction } from "@parley/service-kit";

type BotRef = { workspaceId: string; botId: string };

export type NewAnswer = { questions: string[]; answer: string };
export type StoredAnswer = NewAnswer & { id: number; updatedAt: Date };

const ANSWER_COLUMNS = `answer_id AS id, questions, answer, updated_at AS "updatedAt"`;

/** Stores an answer. Returns undefined if the bot has `limit` answers. */
export async function insertAnswer(
  database: Database,
  { workspaceId, botId }: BotRef,
  { questions, answer }: NewAnswer,
  limit: number,
): Promise<StoredAnswer | undefined> {
  return workspaceTransaction(database, { table: "conversation.answers", workspaceId }, async (connection) => {
    const { rows } = await connection.query<StoredAnswer>(
      `INSERT INTO conversation.answers (workspace_id, bot_id, questions, answer)
       SELECT $1, $2, $3, $4
       WHERE (SELECT count(*) FROM conversation.answers WHERE workspace_id = $1 AND bot_id = $2) < $5
       RETURNING ${ANSWER_COLUMNS}`,
      [workspaceId, botId, questions, answer, limit],
    );
    return rows[0];
  });
}

/** Changes the given fields of an answer. Returns undefined if the bot has no answer with this id. */
export async function updateAnswer(
  database: Database,
  { workspaceId, botId }: BotRef,
  { id, questions, answer }: Partial<NewAnswer> & { id: bigint },
): Promise<StoredAnswer | undefined> {
  const { rows } = await database.query<StoredAnswer>(
    `UPDATE conversation.answers SET questions = coalesce($4, questions), answer = coalesce($5, answer), updated_at = now()
     WHERE workspace_id = $1 AND bot_id = $2 AND answer_id = $3
     RETURNING ${ANSWER_COLUMNS}`,
    [workspaceId, botId, String(id), questions, answer],
  );
  return rows[0];
}

/** Lists a bot's answers, oldest first. */
export async function listAnswers(database: Queryable, { workspaceId, botId }: BotRef): Promise<StoredAnswer[]> {
  const { rows } = await database.query<StoredAnswer>(
    `SELECT ${ANSWER_COLUMNS} FROM conversation.answers WHERE workspace_id = $1 AND bot_id = $2 ORDER BY answer_id`,
    [workspaceId, botId],
  );
  return rows;
}

/** Deletes an answer. Returns false if the bot has no answer with this id. */
export async function deleteAnswer(database: Database, { workspaceId, botId }: BotRef, id: bigint): Promise<boolean> {
  const { rowCount } = await database.query(
    "DELETE FROM conversation.answers WHERE workspace_id = $1 AND bot_id = $2 AND answer_id = $3",
    [workspaceId, botId, String(id)],
  );
  return rowCount === 1;
}

/** Returns the text of an answer; undefined if it has been removed. */
export async function readAnswer(
  database: Queryable,
  { workspaceId, botId }: BotRef,
  id: number,
): Promise<string | undefined> {
  const { rows } = await database.query<{ answer: string }>(
    "SELECT answer FROM conversation.answers WHERE workspace_id = $1 AND bot_id = $2 AND answer_id = $3",
    [workspaceId, botId, id],
  );
  return rows[0]?.answer;
}
