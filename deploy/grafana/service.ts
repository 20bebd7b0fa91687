import { byRpc, type Dashboard, of, quantile, rate } from "./panel.ts";

/** Metrics that every process has, of ours alone. */
const OURS = 'application="parley"';
const HTTP = "parley_http_request_duration_seconds";
const RPC = "parley_rpc_server_duration_seconds";

/** Are the four services well, and are they quick? */
export const SERVICE: Dashboard = {
  uid: "parley-service",
  title: "Parley / Service",
  description: "The four services: requests, errors and durations per route and RPC, and the processes behind them.",
  rows: [
    {
      title: "At a glance",
      panels: [
        {
          title: "Replicas that answer",
          description: "Replicas that Prometheus reaches, by service. Fewer than you run: see ParleyTargetDown.",
          unit: "short",
          stat: true,
          queries: [{ expr: `sum by (service) (${of("up", OURS)})`, legend: "{{service}}" }],
          thresholds: [
            { value: 0, color: "red" },
            { value: 1, color: "green" },
          ],
        },
        {
          title: "Requests",
          description: "Requests a second on the public port.",
          unit: "reqps",
          stat: true,
          queries: [{ expr: `sum(${rate(`${HTTP}_count`)})`, legend: "requests" }],
        },
        {
          title: "Failed requests",
          description:
            "Share of the public port's requests that got a 5xx. What fails inside a stream stands on the Chat dashboard.",
          unit: "percentunit",
          stat: true,
          queries: [
            {
              expr: `sum(${rate(`${HTTP}_count`, 'status=~"5.."')}) / sum(${rate(`${HTTP}_count`)})`,
              legend: "failed",
            },
          ],
          thresholds: [
            { value: 0.001, color: "orange" },
            { value: 0.01, color: "red" },
          ],
        },
        {
          title: "Streams open",
          description: "Replies being streamed now, over all edges.",
          unit: "short",
          stat: true,
          queries: [{ expr: `sum(${of("parley_streams_open")})`, legend: "open" }],
        },
      ],
    },
    {
      title: "The public port",
      panels: [
        {
          title: "Requests by route",
          description: "Requests a second. `none` is what no route answers.",
          unit: "reqps",
          stacked: true,
          queries: [{ expr: `sum by (route) (${rate(`${HTTP}_count`)})`, legend: "{{route}}" }],
        },
        {
          title: "Answers other than 2xx",
          description: "By status; 499: the client left before there was an answer.",
          unit: "reqps",
          stacked: true,
          queries: [{ expr: `sum by (status) (${rate(`${HTTP}_count`, 'status!~"2.."')})`, legend: "{{status}}" }],
        },
        {
          title: "Refusals by code",
          description:
            "Why requests were refused. `invalid_api_key`: a revoked or unknown public key; `origin_not_allowed`: a page that the key is not for; `rate_limited`, `overloaded`: too many at once; `unavailable`: a service of ours is away.",
          unit: "reqps",
          stacked: true,
          queries: [{ expr: `sum by (code) (${rate("parley_requests_refused_total")})`, legend: "{{code}}" }],
        },
        {
          title: "Duration by route, p99",
          description: "To the end of the answer: for a chat that is the end of its stream.",
          unit: "s",
          queries: [{ expr: quantile(0.99, HTTP, ["route"]), legend: "{{route}}" }],
        },
      ],
    },
    {
      title: "Between the services",
      panels: [
        {
          title: "Calls by RPC",
          description: "Calls a second, as the services that answered them counted.",
          unit: "reqps",
          stacked: true,
          queries: [{ expr: `sum by (rpc) (${byRpc(rate(`${RPC}_count`))})`, legend: "{{rpc}}" }],
        },
        {
          title: "Failed calls, as answered",
          description: "Calls answered with another status than OK. NOT_FOUND and CANCELLED are part of ordinary life.",
          unit: "reqps",
          queries: [
            {
              expr: `sum by (rpc, status) (${byRpc(rate(`${RPC}_count`, 'status!="OK"'))})`,
              legend: "{{rpc}} {{status}}",
            },
          ],
        },
        {
          title: "Failed calls, as their callers saw it",
          description:
            "A service that is gone or frozen counts nothing; its callers do: UNAVAILABLE or DEADLINE_EXCEEDED here names it.",
          unit: "reqps",
          queries: [
            {
              expr: `sum by (rpc, status) (${byRpc(rate("parley_rpc_client_failures_total"))})`,
              legend: "{{rpc}} {{status}}",
            },
          ],
        },
        {
          title: "Duration by RPC, p99",
          description: "Generate lasts as long as the reply.",
          unit: "s",
          queries: [{ expr: byRpc(quantile(0.99, RPC, ["method"])), legend: "{{rpc}}" }],
        },
      ],
    },
    {
      title: "Streams and processes",
      panels: [
        {
          title: "Streams open by edge",
          description: "One edge far from the others: its load balancer does not balance.",
          unit: "short",
          stacked: true,
          queries: [{ expr: `sum by (instance) (${of("parley_streams_open")})`, legend: "{{instance}}" }],
        },
        {
          title: "Streams refused and cut",
          description:
            "Refused by reason (`client`, `process`: caps; `draining`: the edge stops), and cut because the reader took nothing.",
          unit: "reqps",
          queries: [
            { expr: `sum by (reason) (${rate("parley_streams_refused_total")})`, legend: "refused: {{reason}}" },
            { expr: `sum(${rate("parley_streams_stalled_total")})`, legend: "cut: reader stalled" },
          ],
        },
        {
          title: "What waits for slow readers",
          description: "At most 64 KiB a stream.",
          unit: "bytes",
          queries: [{ expr: `sum by (instance) (${of("parley_streams_buffered_bytes")})`, legend: "{{instance}}" }],
        },
        {
          title: "Event-loop delay, p99",
          description: "Above 0.1 s every stream of the process stutters: it lacks CPU, or something blocks it.",
          unit: "s",
          queries: [
            {
              expr: `max by (service, instance) (${of("nodejs_eventloop_lag_p99_seconds", OURS)})`,
              legend: "{{service}} {{instance}}",
            },
          ],
          thresholds: [{ value: 0.2, color: "red" }],
        },
        {
          title: "CPU",
          description: "Cores in use.",
          unit: "short",
          queries: [
            {
              expr: `sum by (service, instance) (${rate("process_cpu_seconds_total", OURS)})`,
              legend: "{{service}} {{instance}}",
            },
          ],
        },
        {
          title: "Memory",
          description: "Resident. A line that only rises is a leak.",
          unit: "bytes",
          queries: [
            {
              expr: `sum by (service, instance) (${of("process_resident_memory_bytes", OURS)})`,
              legend: "{{service}} {{instance}}",
            },
          ],
        },
      ],
    },
    {
      title: "Database",
      panels: [
        {
          title: "Pool in use",
          description: "Share of a pool's connections that are in use. At 100 % callers wait.",
          unit: "percentunit",
          max: 1,
          queries: [
            {
              expr: `max by (service, instance, pool) (${of("parley_db_pool_connections", 'state="used"')}) / max by (service, instance, pool) (${of("parley_db_pool_max_connections")})`,
              legend: "{{service}} {{pool}} {{instance}}",
            },
          ],
          thresholds: [{ value: 0.9, color: "orange" }],
        },
        {
          title: "Waiting for a connection",
          description: "Callers that wait. More than a moment's worth: see ParleyDatabasePoolExhausted.",
          unit: "short",
          queries: [
            {
              expr: `sum by (service, instance, pool) (${of("parley_db_pool_waiting")})`,
              legend: "{{service}} {{pool}} {{instance}}",
            },
          ],
        },
        {
          title: "Time a connection is in use, p50 and p99",
          description:
            "One statement or one transaction, the way to the database included. All services up at once: the database or the network is slow.",
          unit: "s",
          queries: [
            {
              expr: quantile(0.5, "parley_db_connection_use_seconds", ["service", "pool"]),
              legend: "{{service}} {{pool}} p50",
            },
            {
              expr: quantile(0.99, "parley_db_connection_use_seconds", ["service", "pool"]),
              legend: "{{service}} {{pool}} p99",
            },
          ],
        },
      ],
    },
  ],
};
