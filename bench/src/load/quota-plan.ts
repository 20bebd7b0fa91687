/** Configuration of quota-callers.ts, passed as JSON on its command line. */
export type QuotaPlan = {
  /** `grpc` calls the quota service, `pg` runs the same statements on the database. */
  by: "grpc" | "pg";
  /** `host:port` of the quota service. */
  target: string;
  internalToken: string;
  /** URL with the service's role. */
  databaseUrl: string;
  /** Pool size, the same as the service's. */
  databasePool: number;
  workspaceIds: string[];
  /** Number of concurrent callers. */
  callers: number;
  /** Number of turns to reserve and settle. */
  turns: number;
};

/** Result that quota-callers.ts prints as JSON. */
export type QuotaResult = { perSecond: number };
