import type { Database } from "@parley/service-kit";

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
