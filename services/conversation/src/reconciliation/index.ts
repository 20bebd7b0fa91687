export { createCallLogComparison } from "./call-log.service.ts";
export { QueueReadStart, ReaderLease } from "./reader-lease.service.ts";
export type { ReconcileDeps, Repair } from "./reconcile.service.ts";
export { createRepairCounter, registerReconciliationGauges } from "./reconciliation.metrics.ts";
export { createCallLogPlan, createReconciliationTask, type ReconciliationSettings } from "./reconciliation.worker.ts";
export { type RepairDeps, repair } from "./repair.service.ts";
export { finishTask, type Progress, readTask, runIfDue, saveProgress, type TaskLease } from "./task-leases.store.ts";
export { compareUnpaid } from "./unpaid.service.ts";
