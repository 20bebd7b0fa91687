import { type Dashboard, inNamespace, quantile, rate, withRpcLabel } from "./panel.ts";

/** Selects Parley's processes, for metrics that other applications have too. */
const PARLEY_PROCESSES = 'application="parley"';
const HTTP = "parley_http_request_duration_seconds";
const RPC = "parley_rpc_server_duration_seconds";

/** Shows whether the services are healthy and fast. */
export const SERVICE: Dashboard = {
  uid: "parley-service",
  title: "Parley / Service",
  description: "Parley's services: requests, errors and durations by route and RPC, and their processes.",
  rows: [
    {
      title: "At a glance",
      panels: [
        {
          title: "Responding replicas",
          shows: "Replicas that Prometheus can scrape, by service.",
          normal: "As many as you run.",
          action: "Fewer: see ParleyTargetDown, ParleyReplicasDown and ParleyServiceMissing.",
          unit: "short",
          stat: true,
          queries: [{ expr: `sum by (service) (${inNamespace("up", PARLEY_PROCESSES)})`, legend: "{{service}}" }],
          thresholds: [
            { value: 0, color: "red" },
            { value: 1, color: "green" },
          ],
        },
        {
          title: "Requests",
          shows: "Requests per second on the public port.",
          normal: "Follows the visitors' daily pattern.",
          action: "0 while visitors are active: check the ingress and DNS.",
          unit: "reqps",
          stat: true,
          queries: [{ expr: `sum(${rate(`${HTTP}_count`)})`, legend: "requests" }],
        },
        {
          title: "Failed requests",
          shows:
            "Share of the public port's requests that got a 5xx. Errors inside a stream are on the Chat dashboard.",
          normal: "Below 0.1 %.",
          action: "Above 1 %: see _Refusals by code_ and ParleyTurnsFailing.",
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
          shows: "Replies and exports being streamed now, over all edges.",
          normal: "Well below `edge.maxStreams` times the number of edges.",
          action: "Near that limit: add edges, or turn autoscaling on.",
          unit: "short",
          stat: true,
          queries: [{ expr: `sum(${inNamespace("parley_streams_open")})`, legend: "open" }],
        },
      ],
    },
    {
      title: "The public port",
      panels: [
        {
          title: "Requests by route",
          shows: "Requests per second. `none`: no route matches.",
          normal: "Almost all are chat and widget configuration.",
          action: "`none` rises: a scanner, or a page that requests a wrong path.",
          unit: "reqps",
          stacked: true,
          queries: [{ expr: `sum by (route) (${rate(`${HTTP}_count`)})`, legend: "{{route}}" }],
        },
        {
          title: "Responses other than 2xx",
          shows: "Responses by status. 499: the client disconnected before the response.",
          normal: "A few 4xx.",
          action: "5xx: see _Refusals by code_. 4xx rise after a page changed: check its key and its origin.",
          unit: "reqps",
          stacked: true,
          queries: [{ expr: `sum by (status) (${rate(`${HTTP}_count`, 'status!~"2.."')})`, legend: "{{status}}" }],
        },
        {
          title: "Refusals by code",
          shows:
            "Refused requests by code, and streams that ended with `quota_exceeded`, `blocked` or `busy`. `invalid_api_key`: a revoked or unknown public key. `origin_not_allowed`: a page that the key does not allow. `rate_limited`: too many requests a minute. `overloaded`: too many open streams or too much waiting work. `unavailable`: a Parley service is not available.",
          normal: "A few `rate_limited` and `origin_not_allowed`.",
          action:
            "`unavailable`: see _Failed calls at the caller_. `overloaded`: add edges. `invalid_api_key`: a page uses a revoked or unknown key; inform the page's owner. One visitor: `parley refusals`, or `parley explain` with the id that the widget shows.",
          unit: "reqps",
          stacked: true,
          queries: [
            { expr: `sum by (code) (${rate("parley_requests_refused_total")})`, legend: "{{code}}" },
            {
              expr: `sum by (finish) (${rate("parley_turns_total", 'finish=~"quota_exceeded|blocked"')})`,
              legend: "{{finish}}",
            },
            { expr: `sum by (code) (${rate("parley_turns_total", 'code="busy"')})`, legend: "{{code}}" },
          ],
        },
        {
          title: "Challenges by result",
          shows:
            "Challenges that were sent (`asked`), solutions that bought a pass (`solved`), and refused solutions by reason.",
          normal:
            "None without a public key that asks for challenges. Otherwise, almost as many are solved as were asked.",
          action:
            "Far more `asked` than `solved`: programs that do not solve challenges; nothing is spent on them. Many `signature`: forged solutions, or visitors whose address changes.",
          unit: "reqps",
          stacked: true,
          queries: [{ expr: `sum by (result) (${rate("parley_challenges_total")})`, legend: "{{result}}" }],
        },
        {
          title: "Duration by route, p99",
          shows: "Time to the end of the response; for a chat, the end of its stream.",
          normal: "Chat: as long as a reply. Others: below 1 s, except long exports.",
          action: "A route other than chat above 1 s: see _Duration by RPC, p99_.",
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
          shows: "gRPC calls per second, counted by the server.",
          normal: "Proportional to the turns.",
          action: "A method falls to 0 while there are turns: see _Failed calls at the caller_.",
          unit: "reqps",
          stacked: true,
          queries: [{ expr: `sum by (rpc) (${withRpcLabel(rate(`${RPC}_count`))})`, legend: "{{rpc}}" }],
        },
        {
          title: "Failed calls at the server",
          shows: "Calls with a status other than OK, counted by the server.",
          normal: "NOT_FOUND and CANCELLED occur in normal operation.",
          action: "INTERNAL or UNAVAILABLE persists: read the log of the service that has the method.",
          unit: "reqps",
          queries: [
            {
              expr: `sum by (rpc, status) (${withRpcLabel(rate(`${RPC}_count`, 'status!="OK"'))})`,
              legend: "{{rpc}} {{status}}",
            },
          ],
        },
        {
          title: "Failed calls at the caller",
          shows:
            "Failed calls, counted by the caller. Includes calls to a service that is down or frozen and so cannot count them.",
          normal: "NOT_FOUND and CANCELLED occur in normal operation.",
          action:
            "UNAVAILABLE or DEADLINE_EXCEEDED: the RPC shows which service is down or frozen. See ParleyTargetDown.",
          unit: "reqps",
          queries: [
            {
              expr: `sum by (rpc, status) (${withRpcLabel(rate("parley_rpc_client_failures_total"))})`,
              legend: "{{rpc}} {{status}}",
            },
          ],
        },
        {
          title: "Duration by RPC, p99",
          shows: "Duration of a call, measured by the server. Generate lasts as long as the reply.",
          normal: "Below 100 ms, except Generate.",
          action: "OpenTurn or Reserve above 100 ms: see _Time a connection is in use_.",
          unit: "s",
          queries: [{ expr: withRpcLabel(quantile(0.99, RPC, ["method"])), legend: "{{rpc}}" }],
        },
      ],
    },
    {
      title: "Streams and processes",
      panels: [
        {
          title: "Streams open by edge",
          shows: "Replies and exports being streamed now, by edge.",
          normal: "About the same on each edge.",
          action:
            "One edge far from the others: the load balancer does not balance. Configure it for least connections.",
          unit: "short",
          stacked: true,
          queries: [{ expr: `sum by (instance) (${inNamespace("parley_streams_open")})`, legend: "{{instance}}" }],
        },
        {
          title: "Streams refused and cut",
          shows:
            "Streams refused, by reason, and streams cut because the client stopped reading. `client`: the address, the user or the session has too many streams, or the reply has too many readers. `process`: the edge has too many streams. `workspace`: too many turns wait to start, or wait too long, because one workspace starts too many. `overload`: too many turns wait to start, or wait too long, because all workspaces together start too many. `draining`: the edge is stopping.",
          normal: "None, except `draining` during a rollout.",
          action:
            "`process` or `overload`: see ParleyStreamsRefused. `client`: if many visitors share an address, raise `edge.maxStreamsPerClient`.",
          unit: "reqps",
          queries: [
            { expr: `sum by (reason) (${rate("parley_streams_refused_total")})`, legend: "refused: {{reason}}" },
            { expr: `sum(${rate("parley_streams_stalled_total")})`, legend: "cut: reader stalled" },
          ],
        },
        {
          title: "Bytes buffered for slow readers",
          shows: "Bytes that wait for slow readers, by edge; at most about 64 KiB per stream.",
          normal: "Near 0.",
          action: "Rises on all edges: a proxy in front reads slowly. Run `parley doctor`.",
          unit: "bytes",
          queries: [
            { expr: `sum by (instance) (${inNamespace("parley_streams_buffered_bytes")})`, legend: "{{instance}}" },
          ],
        },
        {
          title: "Changes and restarts",
          shows:
            "Calls that changed something and reloads of changed files, by service, and starts of processes, as after an upgrade. A reload counts once for each replica.",
          normal: "Only what you and the workspaces' owners did.",
          action: "Problems began at the same time: `parley audit-log --all --since 24h` has who changed what.",
          unit: "short",
          stacked: true,
          queries: [
            {
              expr: `sum by (service, kind) (increase(${inNamespace("parley_audit_log_events_total")}[$__rate_interval]))`,
              legend: "{{service}}: {{kind}}",
            },
            {
              expr: `sum by (service) (changes(${inNamespace("process_start_time_seconds", PARLEY_PROCESSES)}[$__rate_interval]))`,
              legend: "{{service}}: restart",
            },
          ],
        },
        {
          title: "Event-loop delay, p99",
          shows: "How late the event loop of a process runs. Above 0.1 s all its streams pause.",
          normal: "Below 0.1 s.",
          action: "Above 0.2 s: see ParleyEventLoopBlocked.",
          unit: "s",
          queries: [
            {
              expr: `max by (service, instance) (${inNamespace("nodejs_eventloop_lag_p99_seconds", PARLEY_PROCESSES)})`,
              legend: "{{service}} {{instance}}",
            },
          ],
          thresholds: [{ value: 0.2, color: "red" }],
        },
        {
          title: "CPU",
          shows: "Cores in use, by process.",
          normal: "Below one core.",
          action: "At one core: add replicas, or turn autoscaling on.",
          unit: "short",
          queries: [
            {
              expr: `sum by (service, instance) (${rate("process_cpu_seconds_total", PARLEY_PROCESSES)})`,
              legend: "{{service}} {{instance}}",
            },
          ],
        },
        {
          title: "Memory",
          shows: "Resident memory, by process.",
          normal: "Constant after the first hour, and below the pod's limit.",
          action: "Rises without end: a memory leak; report it. Near the limit: see ParleyMemoryNearLimit.",
          unit: "bytes",
          queries: [
            {
              expr: `sum by (service, instance) (${inNamespace("process_resident_memory_bytes", PARLEY_PROCESSES)})`,
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
          shows: "Share of a pool's connections that are in use. At 100 % new statements and transactions wait.",
          normal: "Below 90 %.",
          action: "At 100 %: see ParleyDatabasePoolExhausted.",
          unit: "percentunit",
          max: 1,
          queries: [
            {
              expr: `max by (service, instance, pool) (${inNamespace("parley_db_pool_connections", 'state="used"')}) / max by (service, instance, pool) (${inNamespace("parley_db_pool_max_connections")})`,
              legend: "{{service}} {{pool}} {{instance}}",
            },
          ],
          thresholds: [{ value: 0.9, color: "orange" }],
        },
        {
          title: "Waiting for a connection",
          shows:
            "Statements and transactions that wait for a connection of a pool, or for their shard's part of a pool if there are several shards.",
          normal: "0.",
          action: "Above 0 for two minutes: see ParleyDatabasePoolExhausted, and ParleyShardWaiting for a shard.",
          unit: "short",
          queries: [
            {
              expr: `sum by (service, instance, pool) (${inNamespace("parley_db_pool_waiting")})`,
              legend: "{{service}} {{pool}} {{instance}}",
            },
            {
              expr: `sum by (service, pool, shard) (${inNamespace("parley_db_shard_waiting")})`,
              legend: "{{service}} {{pool}} shard {{shard}}",
            },
          ],
        },
        {
          title: "Database errors by class",
          shows:
            "Errors from the database, by service and class of the SQLSTATE. `connection`: the network. `timeout`: no response. `57014`: a statement took longer than its timeout.",
          normal: "0, except a few of `23` and `40`.",
          action: "`connection`, `timeout`, `08`, `25`, `28`, `53` or `57` for minutes: see ParleyDatabaseUnavailable.",
          unit: "reqps",
          stacked: true,
          queries: [
            {
              expr: `sum by (service, class) (${rate("parley_db_errors_total")}) > 0 or sum by (service, class) (${rate("parley_db_errors_total", 'class="connection"')})`,
              legend: "{{service}} {{class}}",
            },
          ],
        },
        {
          title: "Failed tasks and leases",
          shows:
            "Failed runs of the conversation service's periodic tasks, such as `sweep` and `reconcile turns with usage`, and renewals of edges' leases that the database did not store in time. By shard if there are several.",
          normal: "0.",
          action:
            "Persists: read the conversation service's log, `task failed, retrying`. One shard: see ParleyShardUnavailable. All: see ParleyDatabaseUnavailable.",
          unit: "reqps",
          queries: [
            {
              expr: `sum by (task, shard) (${rate("parley_task_failures_total")}) > 0 or sum by (task, shard) (${rate("parley_task_failures_total", 'task="sweep"')})`,
              legend: "{{task}} {{shard}}",
            },
            { expr: `sum by (shard) (${rate("parley_edge_lease_failures_total")})`, legend: "leases {{shard}}" },
          ],
        },
        {
          title: "Time a connection is in use",
          shows: "Duration of one statement or one transaction, including the network.",
          normal: "p99 below 250 ms.",
          action: "All services rise together: the database or the network is slow. See ParleyDatabaseSlow.",
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
    {
      title: "E-mail",
      panels: [
        {
          title: "E-mail attempts",
          shows:
            "Attempts to send e-mail per second, by result. held: messages above the limit of their workspace, which a summary replaces.",
          normal: "Mostly sent.",
          action:
            "retried: the mail server fails, see _Age of e-mail_. failed: it refuses recipients; owners see its responses.",
          unit: "reqps",
          queries: [{ expr: `sum by (result) (${rate("parley_emails_total")})`, legend: "{{result}}" }],
        },
        {
          title: "Age of e-mail",
          shows: "Age of the oldest message that waits to be sent, by shard if there are several.",
          normal: "Below 1 minute.",
          action: "Above 30 minutes: see ParleyEmailsStuck.",
          unit: "s",
          queries: [
            { expr: `max by (shard) (${inNamespace("parley_email_oldest_seconds")})`, legend: "waiting {{shard}}" },
          ],
        },
      ],
    },
    {
      title: "Websites",
      panels: [
        {
          title: "Crawls",
          shows: "Finished crawls of websites per second, by result. incomplete: some pages failed.",
          normal: "Mostly complete.",
          action: "Mostly failed: the way to the internet is broken, see ParleyCrawlsFailing.",
          unit: "short",
          queries: [{ expr: `sum by (result) (${rate("parley_site_runs_total")})`, legend: "{{result}}" }],
        },
        {
          title: "Websites that wait",
          shows: "How long the website that has waited longest for a crawler is due, by shard if there are several.",
          normal: "Below 1 minute. A workspace with many websites waits longer, because one is crawled at a time.",
          action: "Grows for all workspaces: add replicas of the conversation service.",
          unit: "s",
          queries: [
            {
              expr: `max by (shard) (${inNamespace("parley_site_waiting_oldest_seconds")})`,
              legend: "waiting {{shard}}",
            },
          ],
        },
      ],
    },
    {
      title: "People",
      panels: [
        {
          title: "Conversations with people",
          shows: "Sessions whose visitors wait for a person, and those that a person answers.",
          normal: "Follows the team's hours. Waiting: near 0.",
          action: "Waiting grows: more people of the team must answer, or the bots' hours must be shorter.",
          unit: "short",
          queries: [
            { expr: `sum(max by (shard) (${inNamespace("parley_handoffs_waiting")}))`, legend: "waiting" },
            { expr: `sum(max by (shard) (${inNamespace("parley_handoffs_assigned")}))`, legend: "assigned" },
          ],
        },
        {
          title: "Requests for a person",
          shows:
            "Changes per second of who answers a visitor. missed: nobody came in time. unanswered: the person did not answer within 30 minutes. inactive: nobody wrote for 4 hours. closed: asked for outside of the bot's hours.",
          normal: "assigned follows requested.",
          action:
            "missed, unanswered: too few people answer. closed: visitors ask outside of the hours, so consider longer ones.",
          unit: "reqps",
          queries: [{ expr: `sum by (result) (${rate("parley_handoffs_total")})`, legend: "{{result}}" }],
        },
        {
          title: "Time until a person answers",
          shows: "Time from a request for a person until a person took over.",
          normal: "Below the bots' wait, by default 3 minutes.",
          action: "Near the wait: see _Conversations with people_.",
          unit: "s",
          queries: [
            { expr: quantile(0.5, "parley_handoff_wait_seconds"), legend: "p50" },
            { expr: quantile(0.95, "parley_handoff_wait_seconds"), legend: "p95" },
          ],
        },
      ],
    },
    {
      title: "Webhooks",
      panels: [
        {
          title: "Webhook attempts",
          shows:
            "Attempts to deliver a webhook per second, by result. dropped: events that were deleted because 100,000 later ones waited.",
          normal: "Mostly delivered.",
          action:
            "failed and retried: receivers refuse events; their owners see the responses. dropped: a receiver has been down for long.",
          unit: "reqps",
          queries: [{ expr: `sum by (result) (${rate("parley_webhook_deliveries_total")})`, legend: "{{result}}" }],
        },
        {
          title: "Undelivered webhook events",
          shows: "Events in the queues of webhooks, by shard if there are several.",
          normal: "Near 0, or steady while a receiver is down.",
          action: "Grows with every receiver up: see _Age of webhook events_.",
          unit: "short",
          queries: [{ expr: `max by (shard) (${inNamespace("parley_webhook_backlog")})`, legend: "events {{shard}}" }],
        },
        {
          title: "Age of webhook events",
          shows:
            "Age of the oldest event that is in no queue yet, and of the oldest undelivered event, by shard if there are several.",
          normal: "In no queue: below 1 s. Undelivered: below 72 hours, while a receiver is down.",
          action: "In no queue above 1 minute: see ParleyWebhooksStuck.",
          unit: "s",
          queries: [
            {
              expr: `max by (shard) (${inNamespace("parley_webhook_uncopied_oldest_seconds")})`,
              legend: "in no queue {{shard}}",
            },
            {
              expr: `max by (shard) (${inNamespace("parley_webhook_oldest_seconds")})`,
              legend: "undelivered {{shard}}",
            },
          ],
        },
      ],
    },
  ],
};
