import type { Database } from "../database.ts";

export type Statement = { text: string; values: unknown[] };

/** Runs `use` and collects the statements that it sends, on connections of its own too. */
export async function statementsOf(
  database: Database,
  use: (database: Database) => Promise<unknown>,
): Promise<Statement[]> {
  const sent: Statement[] = [];
  const recording = (target: object): object =>
    new Proxy(target, {
      get(object, name) {
        const member = Reflect.get(object, name);
        if (name === "connect") return async () => recording(await Reflect.apply(member, object, []));
        if (name !== "query") return typeof member === "function" ? member.bind(object) : member;
        return (...given: [string | Statement, unknown[]?]) => {
          const [query, values = []] = given;
          sent.push(typeof query === "string" ? { text: query, values } : query);
          return Reflect.apply(member, object, given);
        };
      },
    });
  await use(recording(database) as Database);
  return sent.filter(({ text }) => !/^(BEGIN|COMMIT|ROLLBACK|SET|FETCH)/.test(text));
}

/** The tables that a statement reads from end to end, by the plan for these values and by the one for any. */
export async function tablesScanned(admin: Database, { text, values }: Statement): Promise<string[]> {
  const plans = [
    await admin.query(`EXPLAIN (FORMAT JSON) ${text}`, values),
    ...(text.includes("DECLARE") ? [] : [await admin.query(`EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text}`)]),
  ];
  const json = JSON.stringify(plans.map((plan) => plan.rows));
  return [...json.matchAll(/"Node Type":"Seq Scan",[^{}]*?"Relation Name":"(\w+)"/g)].map((match) => match[1] ?? "");
}
