import type { Database } from "../database.ts";

export type Statement = { text: string; values: unknown[] };

/** Runs `use` and returns the statements that it sends, whether through the pool or through a connection of it. */
export async function recordStatements(
  database: Database,
  use: (database: Database) => Promise<unknown>,
): Promise<Statement[]> {
  const statements: Statement[] = [];
  const recordingProxy = (target: object): object =>
    new Proxy(target, {
      get(object, name) {
        const member = Reflect.get(object, name);
        if (name === "connect") return async () => recordingProxy(await Reflect.apply(member, object, []));
        if (name !== "query") return typeof member === "function" ? member.bind(object) : member;
        return (...args: [string | Statement, unknown[]?]) => {
          const [query, values = []] = args;
          statements.push(typeof query === "string" ? { text: query, values } : query);
          return Reflect.apply(member, object, args);
        };
      },
    });
  await use(recordingProxy(database) as Database);
  return statements.filter(({ text }) => !/^(BEGIN|COMMIT|ROLLBACK|SET|FETCH)/.test(text));
}

/** Returns the tables that a statement scans sequentially, once per scan: in its plan for these values, then in its generic plan. */
export async function findSequentialScans(admin: Database, { text, values }: Statement): Promise<string[]> {
  const plans = [
    await admin.query(`EXPLAIN (FORMAT JSON) ${text}`, values),
    ...(text.includes("DECLARE") ? [] : [await admin.query(`EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text}`)]),
  ];
  const json = JSON.stringify(plans.map((plan) => plan.rows));
  return [...json.matchAll(/"Node Type":"Seq Scan",[^{}]*?"Relation Name":"(\w+)"/g)].map((match) => match[1] ?? "");
}
