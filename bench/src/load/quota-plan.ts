/** What the quota's callers are told, as JSON on their command line. */
export type QuotaPlan = {
  /** `grpc` asks the quota service, `pg` runs the very same statements on the database. */
  by: "grpc" | "pg";
  /** `host:port` of the quota service. */
  target: string;
  internalToken: string;
  /** With the service's own role. */
  databaseUrl: string;
  /** As many as the service has. */
  databasePool: number;
  workspaceIds: string[];
  /** Callers at once. */
  callers: number;
  /** Turns, each reserved and settled. */
  turns: number;
};

/** What they answer, as JSON on their standard output. */
export type QuotaResult = { perSecond: number };
