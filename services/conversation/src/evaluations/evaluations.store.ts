import { type Database, workspaceTransaction } from "@parley/service-kit";
import type { BotRef } from "../bots/index.ts";

const MAX_RUNS = 20;
/** The latest run, and the previous run for comparison. */
const RUNS_WITH_RESULTS = 2;

/** A question, and the name of the document that the search must find for it; empty if an owner's answer must be given. */
export type EvaluationCase = { id: number; question: string; document: string };

/**
 * `rank` is the position, counted from 1, of the document's first passage in the list of passages that a prompt would contain; 0 if the list has
 * no passage of the document. `answerId` is the owner's answer that the bot would give, without a search.
 */
export type CaseResult = { caseId: number; rank: number; answerId?: number };

export type NewRun = {
  cases: number;
  /** Number of cases whose search began before the run's time limit. */
  searched: number;
  found: number;
  /** Number of cases whose semantic search failed. Their passages come from the word search only. */
  semanticFailures: number;
  results: readonly CaseResult[];
};

/** `documents` is the number of the bot's documents at the time of the run. */
export type StoredRun = NewRun & { id: number; ranAt: Date; documents: number };

const CASE_COLUMNS = "case_id AS id, question, document";
const RUN_COLUMNS = `run_id AS id, ran_at AS "ranAt", cases, searched, found, semantic_failures AS "semanticFailures", documents`;

/** Stores a case. Returns `full` if the bot has `limit` cases, otherwise `exists` if it has a case with this question. */
export async function insertCase(
  database: Database,
  { workspaceId, botId }: BotRef,
  { question, document }: Omit<EvaluationCase, "id">,
  limit: number,
): Promise<EvaluationCase | "exists" | "full"> {
  return workspaceTransaction(database, { table: "conversation.evaluation_cases", workspaceId }, async (connection) => {
    const { rows } = await connection.query<Partial<EvaluationCase> & { count: number }>(
      `WITH counted AS (
         SELECT count(*)::integer AS count FROM conversation.evaluation_cases WHERE workspace_id = $1 AND bot_id = $2
       ), inserted AS (
         INSERT INTO conversation.evaluation_cases (workspace_id, bot_id, question, document)
         SELECT $1, $2, $3, $4 FROM counted WHERE count < $5
         ON CONFLICT (workspace_id, bot_id, question) DO NOTHING
         RETURNING ${CASE_COLUMNS}
       )
       SELECT count, inserted.* FROM counted LEFT JOIN inserted ON true`,
      [workspaceId, botId, question, document, limit],
    );
    const [row] = rows;
    if (row?.id != null) return { id: row.id, question, document };
    return (row?.count ?? 0) < limit ? "exists" : "full";
  });
}

/** Lists a bot's cases, oldest first. */
export async function listCases(database: Database, { workspaceId, botId }: BotRef): Promise<EvaluationCase[]> {
  const { rows } = await database.query<EvaluationCase>(
    `SELECT ${CASE_COLUMNS} FROM conversation.evaluation_cases WHERE workspace_id = $1 AND bot_id = $2 ORDER BY case_id`,
    [workspaceId, botId],
  );
  return rows;
}

/** Returns false if the bot has no case with this id. */
export async function deleteCase(database: Database, { workspaceId, botId }: BotRef, caseId: bigint): Promise<boolean> {
  const { rowCount } = await database.query(
    "DELETE FROM conversation.evaluation_cases WHERE workspace_id = $1 AND bot_id = $2 AND case_id = $3",
    [workspaceId, botId, String(caseId)],
  );
  return rowCount === 1;
}

// The DELETE does not see the row that the same statement inserts, so it keeps MAX_RUNS - 1 runs. The oldest of them has OFFSET MAX_RUNS - 2.
const INSERT_RUN = `
  WITH expired AS (
    DELETE FROM conversation.evaluation_runs
    WHERE workspace_id = $1 AND bot_id = $2 AND run_id < (
      SELECT run_id FROM conversation.evaluation_runs WHERE workspace_id = $1 AND bot_id = $2
      ORDER BY run_id DESC OFFSET ${MAX_RUNS - 2} LIMIT 1
    )
  )
  INSERT INTO conversation.evaluation_runs (workspace_id, bot_id, cases, searched, found, semantic_failures, documents, results)
  SELECT $1, $2, $3, $4, $5, $6, count(*), $7
  FROM conversation.knowledge_sources WHERE workspace_id = $1 AND bot_id = $2
  RETURNING ${RUN_COLUMNS}, results`;

/** Stores a run with the current number of documents. Deletes all but the bot's last 20 runs. */
export async function insertRun(database: Database, { workspaceId, botId }: BotRef, run: NewRun): Promise<StoredRun> {
  const { cases, searched, found, semanticFailures, results } = run;
  const values = [workspaceId, botId, cases, searched, found, semanticFailures, JSON.stringify(results)];
  const { rows } = await database.query<StoredRun>(INSERT_RUN, values);
  const [stored] = rows;
  if (stored === undefined) throw new Error("the insert of an evaluation run returned no row");
  return stored;
}

/** Lists a bot's runs, latest first. Only the latest two runs have results. */
export async function listRuns(database: Database, { workspaceId, botId }: BotRef): Promise<StoredRun[]> {
  const { rows } = await database.query<StoredRun>(
    `SELECT ${RUN_COLUMNS}, CASE WHEN row_number() OVER (ORDER BY run_id DESC) <= ${RUNS_WITH_RESULTS} THEN results ELSE '[]' END AS results
     FROM conversation.evaluation_runs WHERE workspace_id = $1 AND bot_id = $2 ORDER BY run_id DESC LIMIT ${MAX_RUNS}`,
    [workspaceId, botId],
  );
  return rows;
}

export async function hasDocument(
  database: Database,
  { workspaceId, botId }: BotRef,
  document: string,
): Promise<boolean> {
  const { rowCount } = await database.query(
    "SELECT FROM conversation.knowledge_sources WHERE workspace_id = $1 AND bot_id = $2 AND name = $3",
    [workspaceId, botId, document],
  );
  return rowCount === 1;
}
