import { readFile } from "node:fs/promises";

const PAGE = new URL("../../docs/install/scaling.md", import.meta.url);

/** What docs/install/scaling.md says to run, in its order: the tables that go to every server whole, and those spread by a column. */
export type Distribution = { reference: string[]; distributed: { table: string; column: string }[]; all: string[] };

/** Reads the page's SQL. */
export async function readDistribution(): Promise<Distribution> {
  const page = await readFile(PAGE, "utf8");
  const sql = [...page.matchAll(/```sql\n([\s\S]*?)```/g)].map((match) => match[1] ?? "").join("\n");
  const calls = [...sql.matchAll(/SELECT create_(reference|distributed)_table\('([\w.]+)'(?:, '(\w+)')?/g)];
  const tablesOf = (kind: string) => calls.filter((call) => call[1] === kind);
  return {
    reference: tablesOf("reference").map(([, , table = ""]) => table),
    distributed: tablesOf("distributed").map(([, , table = "", column = ""]) => ({ table, column })),
    all: calls.map(([, , table = ""]) => table),
  };
}
