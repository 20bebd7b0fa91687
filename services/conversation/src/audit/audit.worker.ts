import { type Database, Gauge, type Logger, type Registry } from "@parley/service-kit";
import { type AuditedQuota, audit } from "./audit.service.ts";

/** Returns a function that audits the current month, sets the metric, and logs the differences of each workspace. */
export function createAuditTask(
  database: Database,
  quota: AuditedQuota,
  registry: Registry,
  log: Logger,
): () => Promise<void> {
  const unreconciled = new Gauge({
    name: "parley_usage_unreconciled_workspaces",
    help: "Workspaces whose turns of this month differ from their usage; NaN if the last comparison failed.",
    registers: [registry],
  });
  return async () => {
    try {
      const { month, workspaces } = await audit(database, quota, "", "");
      const differing = workspaces.filter(({ differences }) => differences.length > 0);
      for (const { id, differences } of differing)
        log.error({ workspace_id: id, month, differences: differences.slice(0, 10) }, "turns and usage differ");
      unreconciled.set(differing.length);
    } catch (error) {
      unreconciled.set(Number.NaN);
      throw error;
    }
  };
}
