export { createCallLogComparison } from "./call-log.service.ts";
export type { ReconcileDeps, Repair } from "./reconcile.service.ts";
export { createRepairCounter, registerReconciliationGauges } from "./reconciliation.metrics.ts";
export { createCallLogPlan, createReconciliationTask, type ReconciliationSettings } from "./reconciliation.worker.ts";
export { type RepairDeps, repair } from "./repair.service.ts";
export { compareUnpaid } from "./unpaid.service.ts";
