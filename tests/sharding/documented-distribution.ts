import { readFile } from "node:fs/promises";

const PAGE = new URL("../../docs/install/scaling.md", import.meta.url);

/** The tables that docs/install/scaling.md distributes with Citus. */
export type Distribution = {
  /** Tables of which every server has a copy. */
  reference: string[];
  /** Tables whose rows are distributed by a column. */
  distributed: { table: string; column: string }[];
  /** All of these tables in the order in which the page distributes them. */
  all: string[];
};

/** Reads the distribution from the page's SQL. */
export async function readDistribution(): Promise<Distribution> {
  const page = await readFile(PAGE, "utf8");
  const sql = [...page.matchAll(/```sql\n([\s\S]*?)```/g)].map((match) => match[1] ?? "").join("\n");
  const calls = [...sql.matchAll(/SELECT create_(reference|distributed)_table\('([\w.]+)'(?:, '(\w+)')?/g)];
  const callsOf = (kind: string) => calls.filter((call) => call[1] === kind);
  return {
    reference: callsOf("reference").map(([, , table = ""]) => table),
    distributed: callsOf("distributed").map(([, , table = "", column = ""]) => ({ table, column })),
    all: calls.map(([, , table = ""]) => table),
  };
}
