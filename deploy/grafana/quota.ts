import { type Dashboard, of, quantile, rate } from "./panel.ts";

/** Every replica of the quota service reads the same books: never added up. */
const books = (metric: string) => `max by (plan) (${of(metric)})`;

/** Who is near the cap, and do the books balance? */
export const QUOTA: Dashboard = {
  uid: "parley-quota",
  title: "Parley / Quota",
  description: "What workspaces use of their plans, and whether every turn is on the books.",
  rows: [
    {
      title: "At a glance",
      panels: [
        {
          title: "Workspaces near their cap",
          description: "80 % or more of this month's messages used, those at the cap among them.",
          unit: "short",
          stat: true,
          queries: [{ expr: `sum(${books("parley_quota_workspaces_near_cap")})`, legend: "near" }],
          thresholds: [{ value: 1, color: "orange" }],
        },
        {
          title: "Workspaces at their cap",
          description: "Their visitors get no more replies this month.",
          unit: "short",
          stat: true,
          queries: [{ expr: `sum(${books("parley_quota_workspaces_at_cap")})`, legend: "at cap" }],
          thresholds: [{ value: 1, color: "red" }],
        },
        {
          title: "Books out of balance",
          description:
            "Workspaces whose transcripts and books differ. Anything but 0 is a fault: see ParleyBooksOutOfBalance.",
          unit: "short",
          stat: true,
          queries: [{ expr: `max(${of("parley_books_out_of_balance")})`, legend: "workspaces" }],
          thresholds: [{ value: 1, color: "red" }],
        },
        {
          title: "Oldest unsettled turn",
          description: "Ended, but not on the quota service's books yet. Ordinarily below a second.",
          unit: "s",
          stat: true,
          queries: [{ expr: `max(${of("parley_outbox_oldest_seconds")})`, legend: "oldest" }],
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
          description: "Messages counted.",
          unit: "short",
          queries: [{ expr: books("parley_quota_used_messages"), legend: "{{plan}}" }],
        },
        {
          title: "Share of the cap by plan",
          description: "Used and held, of what all workspaces of the plan may use together.",
          unit: "percentunit",
          queries: [
            {
              expr: `(${books("parley_quota_used_messages")} + ${books("parley_quota_held_messages")}) / (${books("parley_quota_cap_messages")} > 0)`,
              legend: "{{plan}}",
            },
          ],
        },
        {
          title: "Held by plan",
          description: "Messages held for turns under way; back to 0 when nobody talks.",
          unit: "short",
          stacked: true,
          queries: [{ expr: books("parley_quota_held_messages"), legend: "{{plan}}" }],
        },
        {
          title: "Workspaces by plan",
          description: "How many there are.",
          unit: "short",
          stacked: true,
          queries: [{ expr: books("parley_quota_workspaces"), legend: "{{plan}}" }],
        },
        {
          title: "Workspaces above 80 %",
          description: "The share of its cap that each has used; only those that are near it are named.",
          unit: "percentunit",
          max: 1,
          queries: [
            {
              expr: `max by (workspace, plan) (${of("parley_quota_workspace_used_ratio")})`,
              legend: "{{workspace}} ({{plan}})",
            },
          ],
          thresholds: [
            { value: 0.8, color: "orange" },
            { value: 1, color: "red" },
          ],
        },
        {
          title: "Refusals by plan",
          description: "Messages refused because the month's cap is reached.",
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
      title: "Books",
      panels: [
        {
          title: "Messages asked for",
          description: "`settled`: asked again for a turn that had ended already; harmless.",
          unit: "suffix:/s",
          stacked: true,
          queries: [{ expr: `sum by (status) (${rate("parley_quota_reservations_total")})`, legend: "{{status}}" }],
        },
        {
          title: "Settle lag",
          description: "From a turn's end until the quota service has it on its books.",
          unit: "s",
          queries: [0.5, 0.99].map((q) => ({
            expr: quantile(q, "parley_settle_lag_seconds"),
            legend: `p${q * 100}`,
          })),
        },
        {
          title: "Outbox",
          description: "Ended turns that are not settled yet.",
          unit: "short",
          queries: [{ expr: `max(${of("parley_outbox_depth")})`, legend: "turns" }],
        },
        {
          title: "Oldest in the outbox, oldest hold",
          description:
            "An outbox older than a minute: settling is blocked. A hold is as old as the reply it is for; older than 8 minutes: its turn was never closed.",
          unit: "s",
          queries: [
            { expr: `max(${of("parley_outbox_oldest_seconds")})`, legend: "outbox" },
            { expr: `max(${of("parley_holds_oldest_seconds")})`, legend: "hold" },
          ],
        },
      ],
    },
    {
      title: "Who may ask",
      panels: [
        {
          title: "Age of the single sign-on's keys",
          description:
            "Loaded again every 5 minutes. Older: the single sign-on cannot be reached; known keys stay in use.",
          unit: "s",
          queries: [{ expr: `max by (instance) (${of("parley_jwks_age_seconds")})`, legend: "{{instance}}" }],
          thresholds: [{ value: 900, color: "red" }],
        },
        {
          title: "Edges that limit alone",
          description: "Redis does not answer them: a visitor may send 60 messages a minute to each.",
          unit: "short",
          queries: [{ expr: `sum(${of("parley_rate_limiter_on_fallback")})`, legend: "edges" }],
          thresholds: [{ value: 1, color: "orange" }],
        },
        {
          title: "Rate-limited requests",
          description: "Requests refused with 429, by route.",
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
