export type { CallLog } from "./call-log.worker.ts";
export type { CallRow, TryRow } from "./calls.store.ts";
