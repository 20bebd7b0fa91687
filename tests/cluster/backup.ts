import { readBlock, readBlocks } from "./documentation.ts";
import type { Installation } from "./installation.ts";

/** Shell functions that run PostgreSQL's client tools in PostgreSQL's pod, because only pods can resolve the database's host name. */
const CLIENT_TOOLS = ["psql", "pg_dump", "pg_restore"]
  .map(
    (tool) => `${tool}() {
  kubectl --namespace backends exec --stdin deployment/postgres -- env --chdir=/tmp \\
    PGHOST="$PGHOST" PGDATABASE="$PGDATABASE" PGUSER="$PGUSER" PGPASSWORD="$PGPASSWORD" ${tool} "$@"
}`,
  )
  .join("\n");

/** Runs the commands of a section of docs/install/backup.md in a shell with the exported variables of the page's first block. */
export async function runBackupCommands({ shell }: Installation, heading: "Back up" | "Restore"): Promise<void> {
  const variables = (await readBlock("backup.md", "", "sh")).replace("postgres.example.com", "postgres.backends.svc");
  await shell([CLIENT_TOOLS, variables, ...(await readBlocks("backup.md", heading, "sh"))].join("\n"));
}
