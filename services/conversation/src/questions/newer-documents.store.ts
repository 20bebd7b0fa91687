import type { Database } from "@parley/service-kit";

export type AskedQuestion = {
  /** As in the search vectors of the bot's chunks. */
  lexemes: readonly string[];
  /** When it was last asked, RFC 3339. */
  lastAt: string;
};

// Steps:
// - `source`: the documents that were added or changed after the earliest question. Usually few, so that most questions need no search.
// - For each question: the latest of these documents with a chunk that contains all of the question's lexemes. Concatenating '' to workspace_id
//   rules out the index knowledge_chunks_source, which would read all chunks of the workspace.
const FIND_NEWER = `
  WITH source AS MATERIALIZED (
    SELECT source_id, name, updated_at FROM conversation.knowledge_sources
    WHERE workspace_id = $1 AND bot_id = $2 AND updated_at > (SELECT min(at) FROM unnest($4::timestamptz[]) AS at)
  )
  SELECT coalesce(CASE WHEN EXISTS (SELECT FROM source WHERE updated_at > asked.at) THEN (
    SELECT source.name
    FROM conversation.knowledge_chunks c
    JOIN source USING (source_id)
    WHERE c.terms @@ (('''bot:' || $2::uuid || '''')::tsquery && asked.query::tsquery)
      AND c.workspace_id || '' = $1 AND c.bot_id = $2 AND source.updated_at > asked.at
    ORDER BY source.updated_at DESC, source.name
    LIMIT 1
  ) END, '') AS name
  FROM unnest($3::text[], $4::timestamptz[]) WITH ORDINALITY AS asked (query, at, place)
  ORDER BY asked.place`;

/**
 * Returns, for each question, the name of a document that was added or changed after the question was asked, and that has all its words in one
 * chunk. Empty if there is none.
 */
export async function findNewerDocuments(
  database: Database,
  { workspaceId, botId }: { workspaceId: string; botId: string },
  questions: readonly AskedQuestion[],
): Promise<string[]> {
  const queries = questions.map(({ lexemes }) => lexemes.map(quote).join(" & "));
  const times = questions.map(({ lastAt }) => lastAt);
  const { rows } = await database.query<{ name: string }>(FIND_NEWER, [workspaceId, botId, queries, times]);
  return rows.map(({ name }) => name);
}

/** Quotes a lexeme for a tsquery. */
function quote(lexeme: string): string {
  return `'${lexeme.replace(/[\\']/g, "$&$&")}'`;
}
