import { type Database, Gauge, type Logger, type Registry } from "@parley/service-kit";
import { type AuditedQuota, audit } from "./audit.service.ts";

/** Audits the current month each time it is called and tells the result as a metric; what differs is logged turn by turn. */
export function booksWatch(
  database: Database,
  quota: AuditedQuota,
  registry: Registry,
  log: Logger,
): () => Promise<void> {
  const outOfBalance = new Gauge({
    name: "parley_usage_unreconciled_workspaces",
    help: "Workspaces whose transcripts and books of this month do not agree; NaN while they could not be compared.",
    registers: [registry],
  });
  return async () => {
    try {
      const { month, workspaces } = await audit(database, quota, "", "");
      const differing = workspaces.filter(({ differences }) => differences.length > 0);
      for (const { id, differences } of differing)
        log.error({ workspace_id: id, month, differences: differences.slice(0, 10) }, "the books are out of balance");
      outOfBalance.set(differing.length);
    } catch (error) {
      outOfBalance.set(Number.NaN);
      throw error;
    }
  };
}
