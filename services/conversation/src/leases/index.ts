export { type Progress, readTask } from "./leases.store.ts";
export { QueueReadStart, ReaderLease } from "./reader-lease.service.ts";
export { createTask, type TaskRun } from "./task.service.ts";
