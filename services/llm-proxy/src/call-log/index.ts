export type { Ledger } from "./call-log.worker.ts";
export type { CallRow, TryRow } from "./calls.store.ts";
