import { type Dashboard, inNamespace, quantile, rate } from "./panel.ts";

const OVERHEAD = "parley_first_token_overhead_seconds";

/**
 * Failed turns that `parley_turns_total` does not contain: 5xx responses and interrupted turns. Subtracts the refusals that are 5xx responses but
 * do not count as failed.
 */
const FAILED_OUTSIDE_TURNS_TOTAL = [
  rate("parley_http_request_duration_seconds_count", 'route=~"/api/chat/(playground/)?"', 'status=~"5.."'),
  rate("parley_turns_closed_total", 'outcome="interrupted"'),
  `-${rate("parley_streams_refused_total", 'reason=~"client|workspace"')}`,
  `-${rate("parley_moderation_duration_seconds_count", 'service="conversation"', 'kind="match"', 'result!="ok"')}`,
];
// FAILED and ALL select the failed turns and all turns of the 99.9 % objective, as in charts/parley/files/alerts.yaml. `+` returns nothing if
// one term has no series; the sum of an `or` includes the terms that have series.
const FAILED = [
  rate("parley_turns_total", 'finish="error"', 'code!~"provider_.+|busy"'),
  ...FAILED_OUTSIDE_TURNS_TOTAL,
].join(" or ");
const ALL = [rate("parley_turns_total"), ...FAILED_OUTSIDE_TURNS_TOTAL].join(" or ");

export const CHAT: Dashboard = {
  uid: "parley-chat",
  title: "Parley / Chat",
  description: "The time to the first token, the outcomes of turns, and the providers.",
  rows: [
    {
      title: "At a glance",
      panels: [
        {
          title: "Turns",
          shows: "Turns per second.",
          normal: "Follows the visitors' daily pattern.",
          action:
            "0 while visitors are active: check _Responding replicas_ and _Responses other than 2xx_ on the Service dashboard.",
          unit: "suffix:/s",
          stat: true,
          queries: [{ expr: `sum(${rate("parley_turns_total")})`, legend: "turns" }],
        },
        {
          title: "Successful turns",
          shows:
            "Share of turns that end as expected. An error in the stream, a 5xx before it and an interrupted turn count as failed. These do not: an error of the provider, a 503 because a client has too many streams, a 503 because a workspace sends too many messages at once, a 503 because of slow moderation patterns, a message or reply blocked by moderation, an exhausted quota, and a visitor who leaves.",
          normal: "99.9 % or more, the objective.",
          action: "Below 99.9 %: see ParleyTurnsFailing.",
          unit: "percentunit",
          max: 1,
          stat: true,
          queries: [{ expr: `1 - sum(${FAILED}) / sum(${ALL})`, legend: "successful" }],
          thresholds: [
            { value: 0, color: "red" },
            { value: 0.99, color: "orange" },
            { value: 0.999, color: "green" },
          ],
        },
        {
          title: "First tokens in time",
          shows: "Share of first tokens to which Parley adds at most 100 ms. The provider's time is not counted.",
          normal: "99 % or more, the objective.",
          action: "Below 99 %: see ParleyFirstTokenLate.",
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
          title: "Tokens generated",
          shows: "Output tokens per second of all providers.",
          normal: "Proportional to _Turns_.",
          action: "Falls while _Turns_ does not: see _Failed attempts by reason_.",
          unit: "suffix:/s",
          stat: true,
          queries: [
            {
              expr: `sum(${rate("gen_ai_client_token_usage_sum", 'gen_ai_operation_name="chat", gen_ai_token_type="output"')})`,
              legend: "tokens",
            },
          ],
        },
      ],
    },
    {
      title: "Latency",
      panels: [
        {
          title: "Time to first token",
          shows: "From the visitor's request to the first token, the provider's time included.",
          normal: "Slightly above _First-token time of the provider_.",
          action: "Rises: see _First-token overhead_ and _First-token time of the provider_.",
          unit: "s",
          queries: [0.5, 0.9, 0.99].map((q) => ({
            expr: quantile(q, "parley_first_token_seconds"),
            legend: `p${q * 100}`,
          })),
        },
        {
          title: "First-token overhead",
          shows:
            "Parley's part of the time to first token: rate limits, key lookup, opening the turn, reservation, retrieval and network. Excludes the provider, llm-proxy's queue for the provider, and tool calls.",
          normal: "p99 below 100 ms.",
          action: "p99 above 100 ms: see ParleyFirstTokenLate.",
          unit: "s",
          queries: [0.5, 0.99].map((q) => ({ expr: quantile(q, OVERHEAD), legend: `p${q * 100}` })),
          thresholds: [{ value: 0.1, color: "red" }],
        },
        {
          title: "First-token time of the provider",
          shows:
            "Time between a request to the provider and the first text of its response, without the queue and earlier attempts.",
          normal: "Depends on the model; p95 below 5 s.",
          action: "One provider above 5 s: see ParleyProviderSlow.",
          unit: "s",
          queries: [0.5, 0.99].map((q) => ({
            expr: quantile(q, "gen_ai_client_operation_time_to_first_chunk_seconds", [
              "gen_ai_provider_name",
              "gen_ai_request_model",
            ]),
            legend: `{{gen_ai_provider_name}} {{gen_ai_request_model}} p${q * 100}`,
          })),
        },
        {
          title: "Queue time by provider, p99",
          shows:
            "How long a generation waits because its provider already runs as many generations as its `concurrency` allows.",
          normal: "0, or milliseconds at peaks.",
          action: "Above 1 s: raise the provider's `concurrency`, or add a provider to the route.",
          unit: "s",
          queries: [{ expr: quantile(0.99, "parley_llm_queue_wait_seconds", ["provider"]), legend: "{{provider}}" }],
        },
        {
          title: "Turn duration",
          shows: "From the request to the end of its stream.",
          normal: "Seconds; depends on the model and the length of replies.",
          action: "p99 near 300 s: generations reach the llm-proxy's total timeout. See _Errors by code_.",
          unit: "s",
          queries: [0.5, 0.99].map((q) => ({
            expr: quantile(q, "parley_turn_duration_seconds"),
            legend: `p${q * 100}`,
          })),
        },
        {
          title: "Tokens by model",
          shows: "Tokens per second by provider, model and type (input, output), including embeddings.",
          normal: "Proportional to _Generations by provider and outcome_.",
          action: "Input tokens rise and turns do not: check the bots' instructions, knowledge and tools.",
          unit: "suffix:/s",
          queries: [
            {
              expr: `sum by (gen_ai_provider_name, gen_ai_request_model, gen_ai_token_type) (${rate("gen_ai_client_token_usage_sum")})`,
              legend: "{{gen_ai_provider_name}} {{gen_ai_request_model}} {{gen_ai_token_type}}",
            },
          ],
        },
      ],
    },
    {
      title: "Outcomes",
      panels: [
        {
          title: "Turns by finish",
          shows:
            "`stop`: a whole reply. `cancelled`: the visitor left or stopped the reply. `blocked`: moderation. `quota_exceeded`: the cap. `error`: the stream ended with an error, including `busy`.",
          normal: "Almost all `stop`; some `cancelled`.",
          action: "`error` persists: see _Errors by code_.",
          unit: "suffix:/s",
          stacked: true,
          queries: [{ expr: `sum by (finish) (${rate("parley_turns_total")})`, legend: "{{finish}}" }],
        },
        {
          title: "Errors by code",
          shows:
            "Errors that visitors receive in a stream, by code. `provider_auth`: the provider refuses the key. `internal_error`: a Parley service failed.",
          normal: "None, or a few.",
          action: "`provider_…`: see ParleyProviderFailing. `internal_error`: see ParleyTurnsFailing.",
          unit: "suffix:/s",
          stacked: true,
          queries: [{ expr: `sum by (code) (${rate("parley_turns_total", 'finish="error"')})`, legend: "{{code}}" }],
        },
        {
          title: "Cancelled and stalled streams",
          shows:
            "Share of turns whose visitor disconnected or stopped the reply, and share of turns cut because the client stopped reading.",
          normal: "The same from day to day.",
          action: "Rises: replies are slow, or a proxy in front of the edge buffers them. Run `parley doctor`.",
          unit: "percentunit",
          queries: [
            {
              expr: `sum(${rate("parley_turns_total", 'finish="cancelled"')}) / sum(${rate("parley_turns_total")})`,
              legend: "cancelled",
            },
            {
              expr: `sum(${rate("parley_streams_stalled_total")}) / sum(${rate("parley_turns_total")})`,
              legend: "stalled",
            },
          ],
        },
        {
          title: "Stored outcomes",
          shows: "Turn outcomes that the conversation service stored. `interrupted`: the turn's edge died.",
          normal: "The same as _Turns by finish_, with `done` in place of `stop`; no `interrupted`.",
          action:
            "`interrupted` without a node failure: an edge was killed. Check for `OOMKilled` and for a grace period below `edge.drainSeconds`.",
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
          title: "Generations by provider and outcome",
          shows: "Generations per second, by the provider of the last attempt.",
          normal: "Almost all `complete`; some `cancelled`.",
          action: "An error outcome persists at one provider: see _Failed attempts by reason_.",
          unit: "suffix:/s",
          stacked: true,
          queries: [
            {
              expr: `sum by (provider, outcome) (${rate("parley_llm_generations_total")})`,
              legend: "{{provider}} {{outcome}}",
            },
          ],
        },
        {
          title: "Failed attempts by reason",
          shows:
            "Every failed attempt at a provider, including those after which a retry or another model succeeded. `http_401`: key refused. `http_429`: rate limit. `breaker_open`: no request was sent.",
          normal: "None, or a few `http_429`.",
          action:
            "One reason persists: see ParleyProviderBreakerOpen, or ParleyProviderRefusesKey for `http_401` and `http_403`.",
          unit: "suffix:/s",
          queries: [
            {
              expr: `sum by (provider, reason) (${rate("parley_llm_attempt_failures_total")})`,
              legend: "{{provider}} {{reason}}",
            },
          ],
        },
        {
          title: "Failed attempts by next step",
          shows:
            "`retry`: the same model again. `failover`: the next model of the route. `end`: the visitor received an error.",
          normal: "Few, and most of them `retry` or `failover`.",
          action: "`end` persists: give the bots a route with a second provider.",
          unit: "suffix:/s",
          stacked: true,
          queries: [{ expr: `sum by (next) (${rate("parley_llm_attempt_failures_total")})`, legend: "{{next}}" }],
        },
        {
          title: "Circuit breaker",
          shows: "0: closed, requests are sent. 1: half open, one test request at a time. 2: open, no requests.",
          normal: "0.",
          action: "2: see ParleyProviderBreakerOpen, and ParleyProviderDown if turns fail.",
          unit: "short",
          max: 2,
          queries: [{ expr: `max by (provider) (${inNamespace("parley_llm_breaker_state")})`, legend: "{{provider}}" }],
          thresholds: [
            { value: 1, color: "orange" },
            { value: 2, color: "red" },
          ],
        },
        {
          title: "Generations in progress",
          shows: "Generations that run now, by replica of the llm-proxy.",
          normal: "About the same on each replica.",
          action:
            "One replica has most of them: the edges' connections are not balanced. Check the endpoints of the llm-proxy's Service.",
          unit: "short",
          stacked: true,
          queries: [
            { expr: `sum by (instance) (${inNamespace("parley_llm_active_generations")})`, legend: "{{instance}}" },
          ],
        },
        {
          title: "Call log rows",
          shows:
            "`stored`: written. `late`: written after a failed write. `dropped`: lost, because the database was unavailable for too long or rejected the row. `filled`: lost and added again from a stored turn.",
          normal: "Only `stored`.",
          action:
            "`late`: check the llm-proxy's database. `dropped`: the billing run may lack these calls. See ParleyCallLogFailing.",
          unit: "suffix:/s",
          queries: [{ expr: `sum by (result) (${rate("parley_llm_call_log_rows_total")})`, legend: "{{result}}" }],
        },
      ],
    },
  ],
};
