/** An alert that must fire. The times are those of the chart's rules, in minutes. */
export type ExpectedAlert = {
  alert: string;
  /** The alert fires within this time after the start of the incident. */
  within: number;
  /** The alert ends within this time after the end of the incident. Undefined if it lasts longer than a case of the tests. */
  ends?: number;
  /** The alert takes longer than a case of the tests, so only the replayed series in deploy/prometheus check it. */
  isReplayed?: true;
};

export type Incident = {
  /** What a visitor gets, in Markdown. */
  visitors: string;
  /** The largest number of streams that may fail; "any" until the end of the incident and `recoverySeconds` after it. */
  failures: number | "any";
  /** From the end of the incident until the last stream that may fail. */
  recoverySeconds: number;
  /** The alerts that must fire if the incident lasts: after SCALE times the length of the incident in the tests. */
  alerts: readonly ExpectedAlert[];
  /** Other alerts that may fire if the incident lasts. */
  consequences: readonly string[];
  /** The alerts of the chart that may fire in an incident of the length that it has in the tests. */
  immediate: readonly string[];
  /** What the operator does, in Markdown with links relative to docs/operations. */
  action: string;
  /** Results of a run on two cores with eight visitors: complete streams, and seconds from the end of the incident to the last failure. */
  measured: { streams: string; recovery: string };
};

/** Alerts that may fire beside ParleyDatabaseUnavailable or ParleyDatabaseSlow. */
const DATABASE_CONSEQUENCES = [
  "ParleyCallLogFailing",
  "ParleyDatabasePoolExhausted",
  "ParleyDatabaseSlow",
  "ParleyDatabaseUnavailable",
];

const NOTHING = "nothing: every reply is complete";
const NO_ACTION = "nothing: Kubernetes replaces the pod";
const REPLACED = { failures: 0, recoverySeconds: 0, alerts: [], consequences: [], immediate: [], action: NO_ACTION };
/** The replacement of all replicas takes seconds, so the alert fires only with the windows of the tests. */
const ALL_KILLED = {
  failures: "any",
  recoverySeconds: 35,
  alerts: [],
  consequences: ["ParleyServiceMissing", "ParleyOutboxStuck"],
  immediate: [],
  action: "nothing: Kubernetes replaces the pods",
} as const satisfies Partial<Incident> & { failures: "any" };
const databaseAlert: ExpectedAlert = { alert: "ParleyDatabaseUnavailable", within: 3, ends: 2 };
const databaseAction = "[ParleyDatabaseUnavailable](runbooks/ParleyDatabaseUnavailable.md)";

/** The incidents, in the order in which they run. docs/operations/incidents.md has the same table. */
export const INCIDENTS = {
  "a pod of edge is evicted": { visitors: NOTHING, ...REPLACED, measured: { streams: "112 of 112", recovery: "–" } },
  "a pod of conversation is evicted": {
    visitors: NOTHING,
    ...REPLACED,
    measured: { streams: "80 of 80", recovery: "–" },
  },
  "a pod of quota is evicted": { visitors: NOTHING, ...REPLACED, measured: { streams: "80 of 80", recovery: "–" } },
  "a pod of llm-proxy is evicted": { visitors: NOTHING, ...REPLACED, measured: { streams: "88 of 88", recovery: "–" } },
  "a node is drained: one pod of each service is evicted": {
    visitors: NOTHING,
    ...REPLACED,
    measured: { streams: "128 of 128", recovery: "–" },
  },
  "the process of an edge crashes": {
    visitors: "a broken connection for the streams of this edge",
    failures: 8,
    recoverySeconds: 10,
    alerts: [{ alert: "ParleyProcessRestarted", within: 1 }],
    consequences: [],
    immediate: ["ParleyProcessRestarted"],
    action: "[ParleyProcessRestarted](runbooks/ParleyProcessRestarted.md)",
    measured: { streams: "76 of 80", recovery: "0 s" },
  },
  "both pods of edge are killed": {
    visitors: "a broken connection, then no connection until a new pod is ready",
    ...ALL_KILLED,
    measured: { streams: "64 of 79", recovery: "0 s" },
  },
  "both pods of conversation are killed": {
    visitors: "`error` for replies whose end cannot be stored within 4 s; new messages wait, or get 503 `unavailable`",
    ...ALL_KILLED,
    measured: { streams: "51 of 59", recovery: "2.8 s" },
  },
  "both pods of quota are killed": {
    visitors: "`error` for new messages; open replies continue",
    ...ALL_KILLED,
    measured: { streams: "68 of 82", recovery: "0 s" },
  },
  "both pods of llm-proxy are killed": {
    visitors: "`error` for open and new replies",
    ...ALL_KILLED,
    measured: { streams: "64 of 80", recovery: "0 s" },
  },
  "conversation has no pod for 60 s": {
    visitors: "503 `unavailable`",
    failures: "any",
    recoverySeconds: 30,
    alerts: [{ alert: "ParleyServiceMissing", within: 2, ends: 1 }],
    consequences: [],
    immediate: ["ParleyServiceMissing"],
    action: "[ParleyServiceMissing](runbooks/ParleyServiceMissing.md)",
    measured: { streams: "80 of 232", recovery: "0 s" },
  },
  "PostgreSQL is away for 24 s": {
    visitors: "503 `unavailable`; `error` for replies whose end cannot be stored within 4 s",
    failures: "any",
    recoverySeconds: 30,
    alerts: [databaseAlert],
    consequences: DATABASE_CONSEQUENCES,
    immediate: [],
    action: databaseAction,
    measured: { streams: "50 of 114", recovery: "0.2 s" },
  },
  "PostgreSQL is away for 60 s": {
    visitors: "the same",
    failures: "any",
    recoverySeconds: 30,
    alerts: [databaseAlert],
    consequences: DATABASE_CONSEQUENCES,
    immediate: ["ParleyDatabaseUnavailable"],
    action: databaseAction,
    measured: { streams: "56 of 208", recovery: "0 s" },
  },
  "PostgreSQL is read-only for 40 s": {
    visitors: "the same; each pod logs at most 20 lines",
    failures: "any",
    recoverySeconds: 30,
    alerts: [databaseAlert],
    consequences: DATABASE_CONSEQUENCES,
    immediate: [],
    action: databaseAction,
    measured: { streams: "72 of 422", recovery: "0 s" },
  },
  "PostgreSQL has no connection left for 30 s": {
    visitors: "the same",
    failures: "any",
    recoverySeconds: 30,
    alerts: [databaseAlert],
    consequences: DATABASE_CONSEQUENCES,
    immediate: [],
    action: databaseAction,
    measured: { streams: "56 of 264", recovery: "0 s" },
  },
  "a lock on a hot table of PostgreSQL for 30 s": {
    visitors: "503 `unavailable`; `error` for replies whose end cannot be stored within 4 s",
    failures: "any",
    recoverySeconds: 30,
    alerts: [{ alert: "ParleyDatabasePoolExhausted", within: 4, ends: 1 }],
    consequences: DATABASE_CONSEQUENCES,
    immediate: [],
    action: "[ParleyDatabasePoolExhausted](runbooks/ParleyDatabasePoolExhausted.md)",
    measured: { streams: "56 of 94", recovery: "0 s" },
  },
  "Redis is away for 24 s": {
    visitors: NOTHING,
    failures: 0,
    recoverySeconds: 0,
    alerts: [{ alert: "ParleyRateLimiterOnFallback", within: 2, ends: 1 }],
    consequences: [],
    immediate: [],
    action: "[ParleyRateLimiterOnFallback](runbooks/ParleyRateLimiterOnFallback.md)",
    measured: { streams: "128 of 128", recovery: "–" },
  },
  "Redis is emptied": {
    visitors: NOTHING,
    failures: 0,
    recoverySeconds: 0,
    alerts: [],
    consequences: [],
    immediate: [],
    action: "nothing: the counts of the rate limit start again",
    measured: { streams: "64 of 64", recovery: "–" },
  },
  "the provider is away for 60 s": {
    visitors: "`error` with `provider_error`; 429 `rate_limited` after 60 attempts in a minute",
    failures: "any",
    recoverySeconds: 30,
    alerts: [
      { alert: "ParleyProviderDown", within: 7, ends: 4 },
      { alert: "ParleyProviderFailing", within: 8, ends: 4 },
      { alert: "ParleyProviderBreakerOpen", within: 12, ends: 4 },
    ],
    consequences: [],
    immediate: [],
    action: "[ParleyProviderDown](runbooks/ParleyProviderDown.md)",
    measured: { streams: "45 of 804", recovery: "16.5 s" },
  },
  "the provider answers 429 for 40 s": {
    visitors: "`error` with `provider_rate_limited`",
    failures: "any",
    recoverySeconds: 30,
    alerts: [{ alert: "ParleyProviderFailing", within: 6, ends: 4 }],
    consequences: ["ParleyProviderDown", "ParleyProviderBreakerOpen"],
    immediate: [],
    action: "[ParleyProviderFailing](runbooks/ParleyProviderFailing.md)",
    measured: { streams: "83 of 200", recovery: "5.8 s" },
  },
  "the provider is slow for 60 s": {
    visitors: "the first text after 6 s; every reply is complete",
    failures: 0,
    recoverySeconds: 0,
    alerts: [{ alert: "ParleyProviderSlow", within: 15, ends: 8 }],
    consequences: [],
    immediate: [],
    action: "[ParleyProviderSlow](runbooks/ParleyProviderSlow.md)",
    measured: { streams: "152 of 152", recovery: "–" },
  },
  "the identity provider is away for 20 s": {
    visitors: `${NOTHING}. Owners' requests with a token of an unknown key get 503 \`auth_unavailable\``,
    failures: 0,
    recoverySeconds: 0,
    alerts: [{ alert: "ParleyJwksStale", within: 15, ends: 1, isReplayed: true }],
    consequences: [],
    immediate: [],
    action: "[ParleyJwksStale](runbooks/ParleyJwksStale.md)",
    measured: { streams: "120 of 120", recovery: "–" },
  },
  "DNS is away for 30 s": {
    visitors:
      "`error` with `provider_timeout` for replies that need a new connection to the provider; others are complete",
    failures: "any",
    recoverySeconds: 35,
    alerts: [],
    consequences: [...DATABASE_CONSEQUENCES, "ParleyRateLimiterOnFallback"],
    immediate: [],
    action: "repair the cluster's DNS; Parley needs no restart",
    measured: { streams: "97 of 101", recovery: "0 s" },
  },
  "the migrations of an upgrade fail": {
    visitors: NOTHING,
    failures: 0,
    recoverySeconds: 0,
    alerts: [{ alert: "ParleyMigrationFailed", within: 8, ends: 1 }],
    consequences: [],
    immediate: [],
    action: "[ParleyMigrationFailed](runbooks/ParleyMigrationFailed.md)",
    measured: { streams: "184 of 184", recovery: "–" },
  },
  "INTERNAL_TOKEN is replaced in one step": {
    visitors: NOTHING,
    failures: 0,
    recoverySeconds: 0,
    alerts: [],
    consequences: [],
    immediate: [],
    action:
      "[do not restart or upgrade for five minutes](../install/rotation.md#if-the-token-was-replaced-in-one-step)",
    measured: { streams: "176 of 176", recovery: "–" },
  },
  "the database is restored from a dump": {
    visitors: "no connection while the services are stopped; replies after the dump are lost",
    failures: "any",
    recoverySeconds: 35,
    alerts: [{ alert: "ParleyServiceMissing", within: 4, ends: 1 }],
    consequences: ["ParleyUsageRepaired"],
    immediate: ["ParleyServiceMissing"],
    action: "[follow the page](../install/backup.md#restore), then `parley usage-audit --check`",
    measured: { streams: "103 of 188", recovery: "0 s" },
  },
  "Parley is uninstalled and installed again": {
    visitors: "no connection until it is installed; nothing stored is lost",
    failures: "any",
    recoverySeconds: 35,
    alerts: [{ alert: "ParleyServiceMissing", within: 4, ends: 1 }],
    consequences: [],
    immediate: ["ParleyServiceMissing"],
    action: "nothing: the database and the Secret stay",
    measured: { streams: "96 of 143", recovery: "0 s" },
  },
} as const satisfies Record<string, Incident>;

export type IncidentName = keyof typeof INCIDENTS;

/** Returns the rows of the table in docs/operations/incidents.md, as cells. */
export function incidentRows(): string[][] {
  return Object.entries<Incident>(INCIDENTS).map(([name, { visitors, measured, alerts, action }]) => [
    name,
    visitors,
    measured.streams,
    measured.recovery,
    alerts.map(describeAlert).join("; ") || "none",
    action,
  ]);
}

function describeAlert({ alert, within, ends }: ExpectedAlert): string {
  const end = ends === undefined ? "" : `, ends within ${ends} min`;
  return `${alert} within ${within} min${end}`;
}
