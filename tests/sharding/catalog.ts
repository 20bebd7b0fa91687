import type { TestDatabase } from "@parley/test-support";
import { queryFirstRow } from "../system/database.ts";

/** The properties of a table that determine whether it can be distributed by a column. */
export type Table = {
  /** Qualified name. */
  name: string;
  /** The NOT NULL columns. */
  notNull: string[];
  /** The columns of each unique index, including the primary key. */
  unique: string[][];
  references: { table: string; columns: [from: string, to: string][]; definition: string }[];
};

const CATALOG = `
  SELECT coalesce(json_agg(json_build_object(
    'name', c.oid::regclass::text,
    'notNull', (SELECT coalesce(json_agg(a.attname), '[]') FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND a.attnotnull),
    'unique', (
      SELECT coalesce(json_agg(columns), '[]') FROM (
        SELECT (SELECT json_agg(a.attname ORDER BY a.attnum) FROM pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)) AS columns
        FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique
      ) keys
    ),
    'references', (
      SELECT coalesce(json_agg(json_build_object(
        'table', k.confrelid::regclass::text,
        'definition', pg_get_constraintdef(k.oid),
        'columns', (
          SELECT json_agg(json_build_array(mine.attname, theirs.attname))
          FROM unnest(k.conkey, k.confkey) AS pair (own, other)
          JOIN pg_attribute mine ON mine.attrelid = k.conrelid AND mine.attnum = pair.own
          JOIN pg_attribute theirs ON theirs.attrelid = k.confrelid AND theirs.attnum = pair.other
        )
      )), '[]')
      FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'f'
    )
  ) ORDER BY c.oid::regclass::text), '[]') AS tables
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname IN ('conversation', 'quota', 'llm') AND c.relkind = 'r' AND c.relname NOT LIKE 'migrations%'`;

/** Reads all tables of the three schemas except the migrations tables. */
export async function readCatalog(database: TestDatabase): Promise<Table[]> {
  const { tables } = await queryFirstRow<{ tables: Table[] }>(database, CATALOG);
  return tables;
}
