import { type Database, type Queryable, transaction } from "../database/database.ts";

export type Statement = {
  /** Only a prepared statement has a name. */
  name?: string;
  text: string;
  values: unknown[];
  /** The statement of setLocal that ran last before this statement in its transaction. */
  setting?: { text: string; values: unknown[] } | undefined;
};

const SETS_LOCALLY = /^SELECT set_config\(/;

/**
 * Runs `use` and returns the statements that `use` sends through the database or one of its connections. Omits BEGIN, COMMIT,
 * ROLLBACK, SET, FETCH and the statements of setLocal.
 */
export async function recordStatements(
  database: Database,
  use: (database: Database) => Promise<unknown>,
): Promise<Statement[]> {
  const statements: Statement[] = [];
  const recordingProxy = (target: object): object => {
    let setting: Statement["setting"];
    return new Proxy(target, {
      get(object, name) {
        const member = Reflect.get(object, name);
        if (name === "connect") return async () => recordingProxy(await Reflect.apply(member, object, []));
        if (name !== "query") return typeof member === "function" ? member.bind(object) : member;
        return (...args: [string | Statement, unknown[]?]) => {
          const [query, values = []] = args;
          const statement = typeof query === "string" ? { text: query, values } : query;
          statements.push({ ...statement, setting });
          if (SETS_LOCALLY.test(statement.text)) setting = statement;
          if (/^(COMMIT|ROLLBACK)/.test(statement.text)) setting = undefined;
          return Reflect.apply(member, object, args);
        };
      },
    });
  };
  await use(recordingProxy(database) as Database);
  return statements.filter(({ text }) => !/^(BEGIN|COMMIT|ROLLBACK|SET|FETCH)/.test(text) && !SETS_LOCALLY.test(text));
}

/**
 * Returns the tables that a statement scans sequentially: in its plan for `values` and, unless the statement declares a cursor, in its
 * generic plan. A table occurs once per scan.
 */
export async function findSequentialScans(admin: Database, { text, values }: Statement): Promise<string[]> {
  const plans = [
    await admin.query(`EXPLAIN (FORMAT JSON) ${text}`, values),
    ...(text.includes("DECLARE") ? [] : [await admin.query(`EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text}`)]),
  ];
  const json = JSON.stringify(plans.map((plan) => plan.rows));
  return [...json.matchAll(/"Node Type":"Seq Scan",[^{}]*?"Relation Name":"(\w+)"/g)].map((match) => match[1] ?? "");
}

export type PlanNode = {
  "Relation Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Shared Hit Blocks": number;
  "Shared Read Blocks": number;
  Plans?: PlanNode[];
};

/**
 * Runs a statement and returns the plan for its `values`. For a prepared statement, also returns the generic plan, which PostgreSQL may use
 * after some runs.
 */
export async function explainAnalyze(admin: Database, statement: Statement): Promise<PlanNode[]> {
  const { name, text, values, setting } = statement;
  const explain = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)";
  return transaction(admin, async (connection) => {
    if (setting !== undefined) await connection.query(setting.text, setting.values);
    const run = async (...query: [string, unknown[]?]) => {
      const { rows } = await connection.query<{ "QUERY PLAN": [{ Plan: PlanNode }] }>(...query);
      return rows.map((row) => row["QUERY PLAN"][0].Plan);
    };
    // A new connection reads the system catalogues, which the plan would count as pages of the statement.
    await connection.query("SAVEPOINT first_run");
    await run(`${explain} ${text}`, values);
    await connection.query("ROLLBACK TO SAVEPOINT first_run");
    const plans = await run(`${explain} ${text}`, values);
    if (name === undefined) return plans;
    await connection.query(`SET LOCAL plan_cache_mode = force_generic_plan; PREPARE analyzed AS ${text}`);
    const literals = await toLiterals(connection, values);
    const generic = await run(`${explain} EXECUTE analyzed (${literals.join(", ")})`);
    await connection.query("DEALLOCATE analyzed");
    return [...plans, ...generic];
  });
}

/** Converts values to SQL literals, because EXECUTE accepts no parameters. */
async function toLiterals(connection: Queryable, values: readonly unknown[]): Promise<string[]> {
  const literals: string[] = [];
  for (const value of values) {
    const type = Array.isArray(value) ? "text[]" : "text";
    const { rows } = await connection.query<{ literal: string }>(`SELECT quote_nullable($1::${type}) AS literal`, [
      value,
    ]);
    literals.push(rows[0]?.literal ?? "NULL");
  }
  return literals;
}
