export type { CallLog } from "./call-log.worker.ts";
export type { AttemptRow, CallRow } from "./calls.store.ts";
