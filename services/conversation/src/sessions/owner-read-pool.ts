import type { Database, FairQueue } from "@parley/service-kit";
import type { ExportPacer } from "./export-pacer.ts";

/** The pool and the limits of owners' reads: exports, searches, transcripts, turn records, statistics, usage by bot and unanswered questions. */
export type OwnerReadPool = {
  /** A separate connection pool, so that owners' reads and turns do not wait for each other's connections. */
  database: Database;
  /** Lets each workspace run one query or read one page at a time, so that its reads do not delay those of other workspaces. */
  limiter: FairQueue;
  pacer: ExportPacer;
};
