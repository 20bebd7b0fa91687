import { type Dashboard, of, quantile, rate } from "./panel.ts";

const OVERHEAD = "parley_first_token_overhead_seconds";

/** Turns that the objective counts as failed; the same as in charts/parley/files/alerts.yaml. */
const FAILED = [
  rate("parley_turns_total", 'finish="error"'),
  rate("parley_http_request_duration_seconds_count", 'route=~"/api/chat/(playground/)?"', 'status=~"5.."'),
  rate("parley_turns_closed_total", 'outcome="interrupted"'),
].join(" or ");
const ALL = FAILED.replace(', finish="error"', "");

/** Are visitors answered, how soon, and if not, whose fault is it? */
export const CHAT: Dashboard = {
  uid: "parley-chat",
  title: "Parley / Chat",
  description: "What visitors see: first tokens, how replies end, and the providers behind them.",
  rows: [
    {
      title: "At a glance",
      panels: [
        {
          title: "Turns",
          description: "Turns a second.",
          unit: "suffix:/s",
          stat: true,
          queries: [{ expr: `sum(${rate("parley_turns_total")})`, legend: "turns" }],
        },
        {
          title: "Turns that end as they should",
          description:
            "Objective: 99.9 %. A reply, a block, an exhausted quota and a visitor who leaves are as it should be; an error in the stream, a 5xx before it and an interrupted turn are not.",
          unit: "percentunit",
          max: 1,
          stat: true,
          queries: [{ expr: `1 - sum(${FAILED}) / sum(${ALL})`, legend: "as they should" }],
          thresholds: [
            { value: 0, color: "red" },
            { value: 0.99, color: "orange" },
            { value: 0.999, color: "green" },
          ],
        },
        {
          title: "First tokens to which we add 100 ms at most",
          description: "Objective: 99 %. What the provider takes is not counted.",
          unit: "percentunit",
          max: 1,
          stat: true,
          queries: [
            {
              expr: `sum(${rate(`${OVERHEAD}_bucket`, 'le="0.1"')}) / sum(${rate(`${OVERHEAD}_count`)})`,
              legend: "in time",
            },
          ],
          thresholds: [
            { value: 0, color: "red" },
            { value: 0.95, color: "orange" },
            { value: 0.99, color: "green" },
          ],
        },
        {
          title: "Tokens",
          description: "Tokens a second that providers write.",
          unit: "suffix:/s",
          stat: true,
          queries: [{ expr: `sum(${rate("parley_llm_tokens_total", 'direction="out"')})`, legend: "tokens" }],
        },
      ],
    },
    {
      title: "How soon",
      panels: [
        {
          title: "Time to first token",
          description: "From the visitor's request to the first token, everything included.",
          unit: "s",
          queries: [0.5, 0.9, 0.99].map((q) => ({
            expr: quantile(q, "parley_first_token_seconds"),
            legend: `p${q * 100}`,
          })),
        },
        {
          title: "Of it our own",
          description:
            "Limits, key, opening, reserving, retrieval and the way: all but waiting for the provider. High here: look at the Service dashboard.",
          unit: "s",
          queries: [0.5, 0.99].map((q) => ({ expr: quantile(q, OVERHEAD), legend: `p${q * 100}` })),
          thresholds: [{ value: 0.1, color: "red" }],
        },
        {
          title: "Of it the provider's, p50 and p99",
          description:
            "From the llm-proxy's question to the provider's first text, waiting and retries included. High here alone: the provider is slow.",
          unit: "s",
          queries: [0.5, 0.99].map((q) => ({
            expr: quantile(q, "parley_llm_first_token_seconds", ["provider"]),
            legend: `{{provider}} p${q * 100}`,
          })),
        },
        {
          title: "Waiting for a place at a provider, p99",
          description:
            "Replies beyond a provider's `concurrency` wait. More than a moment: raise it, or add a provider to the route.",
          unit: "s",
          queries: [{ expr: quantile(0.99, "parley_llm_queue_wait_seconds", ["provider"]), legend: "{{provider}}" }],
        },
        {
          title: "Whole turns",
          description: "From the request to the end of its stream.",
          unit: "s",
          queries: [0.5, 0.99].map((q) => ({
            expr: quantile(q, "parley_turn_duration_seconds"),
            legend: `p${q * 100}`,
          })),
        },
        {
          title: "Tokens by provider",
          description: "Tokens a second, in and out.",
          unit: "suffix:/s",
          queries: [
            {
              expr: `sum by (provider, direction) (${rate("parley_llm_tokens_total")})`,
              legend: "{{provider}} {{direction}}",
            },
          ],
        },
      ],
    },
    {
      title: "How turns end",
      panels: [
        {
          title: "Ends",
          description: "`stop`: a whole reply. `cancelled`: the visitor left before the end.",
          unit: "suffix:/s",
          stacked: true,
          queries: [{ expr: `sum by (finish) (${rate("parley_turns_total")})`, legend: "{{finish}}" }],
        },
        {
          title: "Errors by code",
          description:
            "What visitors are told. `provider_auth`: the provider refuses our key; `internal_error`: a service of ours.",
          unit: "suffix:/s",
          stacked: true,
          queries: [{ expr: `sum by (code) (${rate("parley_turns_total", 'finish="error"')})`, legend: "{{code}}" }],
        },
        {
          title: "Visitors who leave",
          description: "Share of turns whose visitor left before the end, and readers cut because they took nothing.",
          unit: "percentunit",
          queries: [
            {
              expr: `sum(${rate("parley_turns_total", 'finish="cancelled"')}) / sum(${rate("parley_turns_total")})`,
              legend: "left",
            },
            {
              expr: `sum(${rate("parley_streams_stalled_total")}) / sum(${rate("parley_turns_total")})`,
              legend: "cut",
            },
          ],
        },
        {
          title: "Outcomes as stored",
          description: "What the conversation service wrote down. `interrupted`: the turn's edge is gone.",
          unit: "suffix:/s",
          stacked: true,
          queries: [{ expr: `sum by (outcome) (${rate("parley_turns_closed_total")})`, legend: "{{outcome}}" }],
        },
      ],
    },
    {
      title: "Providers",
      panels: [
        {
          title: "Replies by provider and outcome",
          description: "By the provider that answered, or was tried last.",
          unit: "suffix:/s",
          stacked: true,
          queries: [
            {
              expr: `sum by (provider, outcome) (${rate("parley_llm_calls_total")})`,
              legend: "{{provider}} {{outcome}}",
            },
          ],
        },
        {
          title: "Failed calls by reason",
          description:
            "Every call to a provider that failed, made good or not. `http_401`: the key is refused; `http_429`: too many; `breaker_open`: not even asked.",
          unit: "suffix:/s",
          queries: [
            {
              expr: `sum by (provider, reason) (${rate("parley_llm_attempt_failures_total")})`,
              legend: "{{provider}} {{reason}}",
            },
          ],
        },
        {
          title: "What was done about them",
          description: "`retry`: the same model again; `failover`: the next of the route; `end`: the visitor was told.",
          unit: "suffix:/s",
          stacked: true,
          queries: [{ expr: `sum by (next) (${rate("parley_llm_attempt_failures_total")})`, legend: "{{next}}" }],
        },
        {
          title: "Breaker",
          description: "0 closed, 1 half open (one call tries), 2 open: the provider is not asked.",
          unit: "short",
          max: 2,
          queries: [{ expr: `max by (provider) (${of("parley_llm_breaker_state")})`, legend: "{{provider}}" }],
          thresholds: [
            { value: 1, color: "orange" },
            { value: 2, color: "red" },
          ],
        },
        {
          title: "Replies being written",
          description: "By replica of the llm-proxy.",
          unit: "short",
          stacked: true,
          queries: [{ expr: `sum by (instance) (${of("parley_llm_active_calls")})`, legend: "{{instance}}" }],
        },
        {
          title: "Rows of the call ledger",
          description:
            "`late`: the database was away for a while; `dropped`: it was away for too long, and the billing run lacks them.",
          unit: "suffix:/s",
          queries: [{ expr: `sum by (result) (${rate("parley_llm_ledger_rows_total")})`, legend: "{{result}}" }],
        },
      ],
    },
  ],
};
