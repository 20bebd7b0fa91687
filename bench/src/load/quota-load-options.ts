/** Configuration of quota-load-generator.ts, passed as JSON on its command line. */
export type QuotaLoadOptions = {
  /** `grpc` calls the quota service; `sql` runs the service's statements directly on its database. */
  transport: "grpc" | "sql";
  /** `host:port` of the quota service. */
  target: string;
  internalToken: string;
  /** Database URL with the quota service's role. */
  databaseUrl: string;
  /** Maximum database connections with `sql`: the size of the service's pool. */
  databasePoolSize: number;
  workspaceIds: string[];
  /** Number of concurrent callers. Each runs one turn at a time. */
  callers: number;
  /** Number of measured turns, in total over all callers. */
  turns: number;
};

/** Result that quota-load-generator.ts prints as JSON: turns per second. */
export type QuotaLoadResult = { perSecond: number };
