import { type Dashboard, inNamespace, quantile, rate } from "./panel.ts";

/** Takes the maximum over the quota service's replicas, because each exports the same value from the database. */
const usageGauge = (metric: string) => `max by (plan) (${inNamespace(metric)})`;
/** Has a series for each shard. Without shards, it has one series, and the legend ends with an empty label. */
const byShard = (metric: string) => `max by (shard) (${inNamespace(metric)})`;

export const QUOTA: Dashboard = {
  uid: "parley-quota",
  title: "Parley / Quota",
  description: "What workspaces use of their plans, and whether every turn is accounted for.",
  rows: [
    {
      title: "At a glance",
      panels: [
        {
          title: "Workspaces near their cap",
          shows: "Workspaces that have used 80 % of their cap or more this month, including those at the cap.",
          normal: "0, or the number that you expect.",
          action: "Above 0: see ParleyWorkspaceNearCap.",
          unit: "short",
          stat: true,
          queries: [{ expr: `sum(${usageGauge("parley_quota_workspaces_near_cap")})`, legend: "near" }],
          thresholds: [{ value: 1, color: "orange" }],
        },
        {
          title: "Workspaces at their cap",
          shows: "Workspaces whose visitors get no more replies this month.",
          normal: "0.",
          action: "Above 0: see ParleyWorkspaceAtCap.",
          unit: "short",
          stat: true,
          queries: [{ expr: `sum(${usageGauge("parley_quota_workspaces_at_cap")})`, legend: "at cap" }],
          thresholds: [{ value: 1, color: "red" }],
        },
        {
          title: "Unreconciled workspaces",
          shows: "Pairs of a workspace and a month whose turns and usage differ.",
          normal: "0.",
          action: "Above 0: see ParleyUsageUnreconciled. No value: see ParleyAccountingUnknown.",
          unit: "short",
          stat: true,
          queries: [{ expr: `max(${inNamespace("parley_usage_unreconciled_workspaces")})`, legend: "workspaces" }],
          thresholds: [{ value: 1, color: "red" }],
        },
        {
          title: "Reconciler",
          shows: "Upper bound for the age of the oldest closed turn that has not been compared with usage.",
          normal: "2 to 4 minutes.",
          action: "Above an hour: see ParleyReconcilerStale. No value: see ParleyAccountingUnknown.",
          unit: "s",
          stat: true,
          queries: [{ expr: `max(${inNamespace("parley_reconciliation_lag_seconds")})`, legend: "lag" }],
          thresholds: [{ value: 3600, color: "red" }],
        },
        {
          title: "Oldest open month",
          shows: "Time since the end of the oldest month that is not closed.",
          normal: "0; up to 7 days at the beginning of a month.",
          action: "Above 14 days: see ParleyMonthNotClosed.",
          unit: "s",
          stat: true,
          queries: [{ expr: `max(${inNamespace("parley_usage_unclosed_month_seconds")})`, legend: "oldest" }],
          thresholds: [{ value: 1_209_600, color: "red" }],
        },
        {
          title: "Oldest unsettled turn",
          shows: "Age of the oldest turn that has ended and is not settled.",
          normal: "Below 1 s.",
          action: "Above 60 s: see ParleyOutboxStuck.",
          unit: "s",
          stat: true,
          queries: [{ expr: `max(${inNamespace("parley_outbox_oldest_seconds")})`, legend: "oldest" }],
          thresholds: [
            { value: 10, color: "orange" },
            { value: 60, color: "red" },
          ],
        },
      ],
    },
    {
      title: "Plans",
      panels: [
        {
          title: "Used this month by plan",
          shows: "Messages counted since the month began (UTC).",
          normal: "Rises through the month.",
          action: "Flat while visitors chat: turns are not settled. See _Outbox_.",
          unit: "short",
          queries: [{ expr: usageGauge("parley_quota_used_messages"), legend: "{{plan}}" }],
        },
        {
          title: "Share of the cap by plan",
          shows: "Used and held messages, as a share of what all workspaces of the plan may use.",
          normal: "Rises evenly through the month.",
          action: "Above 80 %: see _Workspaces above 80 %_ for each workspace.",
          unit: "percentunit",
          queries: [
            {
              expr: `(${usageGauge("parley_quota_used_messages")} + ${usageGauge("parley_quota_held_messages")}) / (${usageGauge("parley_quota_cap_messages")} > 0)`,
              legend: "{{plan}}",
            },
          ],
        },
        {
          title: "Held by plan",
          shows: "Messages held for turns that are not settled.",
          normal: "About as many as turns in progress; 0 without visitors.",
          action: "Does not return to 0: see ParleyHoldsStuck.",
          unit: "short",
          stacked: true,
          queries: [{ expr: usageGauge("parley_quota_held_messages"), legend: "{{plan}}" }],
        },
        {
          title: "Workspaces by plan",
          shows: "Number of workspaces.",
          normal: "Changes only when you create or delete a workspace, or change its plan.",
          action: "Changes without your action: compare with `parley workspace list`.",
          unit: "short",
          stacked: true,
          queries: [{ expr: usageGauge("parley_quota_workspaces"), legend: "{{plan}}" }],
        },
        {
          title: "Workspaces above 80 %",
          shows:
            "Share of its cap that a workspace has used. Shows only workspaces at 80 % or more, and at most the 200 highest shares.",
          normal: "Empty.",
          action: "A workspace at 100 %: see ParleyWorkspaceAtCap.",
          unit: "percentunit",
          max: 1,
          queries: [
            {
              expr: `max by (workspace, plan) (${inNamespace("parley_quota_workspace_used_ratio")})`,
              legend: "{{workspace}} ({{plan}})",
            },
          ],
          thresholds: [
            { value: 0.8, color: "orange" },
            { value: 1, color: "red" },
          ],
        },
        {
          title: "Most used workspaces",
          shows: "Messages that a workspace has used this month (UTC), for the ten workspaces that have used most.",
          normal: "Rises evenly through the month.",
          action:
            "One workspace rises quickly: `parley usage --all --sort growth --limit 10` has its name and its last two weeks.",
          unit: "short",
          queries: [
            {
              expr: `topk(10, max by (workspace, plan) (${inNamespace("parley_quota_workspace_used_messages")}))`,
              legend: "{{workspace}} ({{plan}})",
            },
          ],
        },
        {
          title: "Most expensive workspaces",
          shows:
            "Cost of a workspace's generations of the last 24 hours, in the currency of your prices, for the ten workspaces with the highest cost.",
          normal: "As on other days.",
          action:
            "One workspace rises quickly: `parley usage --all --sort cost --limit 10` has its name, tokens and cost of the month. Empty: no model has a price.",
          unit: "short",
          queries: [
            {
              expr: `topk(10, max by (workspace) (${inNamespace("parley_llm_workspace_day_cost")}))`,
              legend: "{{workspace}}",
            },
          ],
        },
        {
          title: "Unpaid replies by plan",
          shows:
            "Replies of the current UTC day that cost provider output but do not count: dropped, blocked, or failed after a tool call.",
          normal: "A few percent of the day's replies.",
          action: "Rises quickly: see ParleyWorkspaceUnpaid.",
          unit: "short",
          stacked: true,
          queries: [{ expr: usageGauge("parley_quota_unpaid_replies"), legend: "{{plan}}" }],
        },
        {
          title: "Workspaces near their bound on unpaid replies",
          shows:
            "Share of a workspace's bound on unpaid replies that is used today. Shows only workspaces at 80 % or more, and at most the 200 highest shares.",
          normal: "Empty.",
          action: "A workspace at 100 %: see ParleyWorkspaceUnpaid.",
          unit: "percentunit",
          queries: [
            {
              expr: `max by (workspace, plan) (${inNamespace("parley_quota_workspace_unpaid_ratio")})`,
              legend: "{{workspace}} ({{plan}})",
            },
          ],
          thresholds: [
            { value: 0.8, color: "orange" },
            { value: 1, color: "red" },
          ],
        },
        {
          title: "Refusals below the cap",
          shows:
            "Messages refused because of unpaid replies (`unpaid_limit`) or because their client holds its share (`client_limit`).",
          normal: "0.",
          action:
            "`unpaid_limit`: see ParleyWorkspaceUnpaid. `client_limit`: one client runs many replies at a time; others are served.",
          unit: "suffix:/s",
          stacked: true,
          queries: [
            {
              expr: `sum by (status) (${rate("parley_quota_reservations_total", 'status=~"unpaid_limit|client_limit"')})`,
              legend: "{{status}}",
            },
          ],
        },
        {
          title: "Refusals by plan",
          shows: "Messages refused because the month's cap is reached.",
          normal: "0.",
          action: "Above 0: raise the workspace's plan, or inform its owner. See ParleyWorkspaceAtCap.",
          unit: "suffix:/s",
          stacked: true,
          queries: [
            {
              expr: `sum by (plan) (${rate("parley_quota_reservations_total", 'status="exceeded"')})`,
              legend: "{{plan}}",
            },
          ],
        },
      ],
    },
    {
      title: "Usage accounting",
      panels: [
        {
          title: "Reservations by status",
          shows:
            "`held`: accepted. `exceeded`: refused because the cap is reached. `settled`: refused because the turn is already settled; harmless.",
          normal: "Almost all `held`.",
          action: "Many `exceeded`: see _Workspaces above 80 %_.",
          unit: "suffix:/s",
          stacked: true,
          queries: [{ expr: `sum by (status) (${rate("parley_quota_reservations_total")})`, legend: "{{status}}" }],
        },
        {
          title: "Settle lag",
          shows:
            "Time from the end of a turn until the quota service has settled the turn, by shard if there are several.",
          normal: "p99 below 1 s.",
          action: "p99 above 10 s: see _Outbox_.",
          unit: "s",
          queries: [0.5, 0.99].map((q) => ({
            expr: quantile(q, "parley_settle_lag_seconds", ["shard"]),
            legend: `p${q * 100} {{shard}}`,
          })),
        },
        {
          title: "Outbox",
          shows: "Ended turns that are not settled, by shard if there are several.",
          normal: "Near 0.",
          action:
            "Grows: settling fails or is too slow. See ParleyOutboxStuck. A shard has no value: see ParleyShardUnavailable.",
          unit: "short",
          queries: [{ expr: byShard("parley_outbox_depth"), legend: "turns {{shard}}" }],
        },
        {
          title: "Oldest outbox row and oldest hold",
          shows:
            "Age of the oldest outbox row and of the oldest hold, by shard if there are several. A hold lasts until its turn is settled.",
          normal: "Outbox below 1 s; hold below 7 minutes.",
          action: "Outbox above 1 minute: see ParleyOutboxStuck. Hold above 8 minutes: see ParleyHoldsStuck.",
          unit: "s",
          queries: [
            { expr: byShard("parley_outbox_oldest_seconds"), legend: "outbox {{shard}}" },
            { expr: byShard("parley_holds_oldest_seconds"), legend: "hold {{shard}}" },
          ],
        },
      ],
    },
    {
      title: "Access",
      panels: [
        {
          title: "Age of the identity provider's keys",
          shows: "Time since each edge loaded the identity provider's keys. An edge loads the keys every 5 minutes.",
          normal: "Below 300 s.",
          action: "Above 900 s: see ParleyJwksStale.",
          unit: "s",
          queries: [{ expr: `max by (instance) (${inNamespace("parley_jwks_age_seconds")})`, legend: "{{instance}}" }],
          thresholds: [{ value: 900, color: "red" }],
        },
        {
          title: "Edges without a shared rate limit",
          shows: "Edges to which Redis does not respond. A visitor may send 60 messages a minute to each of them.",
          normal: "0.",
          action: "Above 0: see ParleyRateLimiterOnFallback.",
          unit: "short",
          queries: [{ expr: `sum(${inNamespace("parley_rate_limiter_on_fallback")})`, legend: "edges" }],
          thresholds: [{ value: 1, color: "orange" }],
        },
        {
          title: "Rate-limited requests",
          shows: "Requests refused with 429, by route.",
          normal: "A few.",
          action:
            "Rises: if one address is the cause, block it at the ingress. If all visitors are refused, `edge.trustedProxies` lacks a proxy.",
          unit: "reqps",
          stacked: true,
          queries: [
            {
              expr: `sum by (route) (${rate("parley_requests_refused_total", 'code="rate_limited"')})`,
              legend: "{{route}}",
            },
          ],
        },
      ],
    },
  ],
};
