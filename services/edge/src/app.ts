import type { Logger } from "@parley/service-kit";
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from "fastify";
import { v7 as uuidv7 } from "uuid";
import { type ChallengeRouteDeps, challengeRoute } from "./challenges/challenge.route.ts";
import { type ChatDeps, chatRoute } from "./chat/chat.route.ts";
import { type PlaygroundDeps, playgroundRoute } from "./chat/playground.route.ts";
import { playgroundStopRoute, stopRoute } from "./chat/stop.route.ts";
import { type DoctorDeps, doctorRoute } from "./doctor/doctor.route.ts";
import { contactMessageRoute } from "./handoff/contact-message.route.ts";
import { type HandoffDeps, handoffRoutes } from "./handoff/handoff.route.ts";
import { type ListHandoffsDeps, listHandoffsRoutes } from "./handoff/list-handoffs.route.ts";
import { notesRoutes } from "./handoff/notes.route.ts";
import { requestHandoffRoute } from "./handoff/request-handoff.route.ts";
import { healthRoutes } from "./http/health.route.ts";
import { openapiRoute } from "./http/openapi.route.ts";
import { ensureDecodable } from "./http/path.ts";
import { createClientErrorHandler } from "./http/plugins/client-errors.plugin.ts";
import { cors } from "./http/plugins/cors.plugin.ts";
import { errors, type OnRefusal } from "./http/plugins/errors.plugin.ts";
import { forwardedFor } from "./http/plugins/forwarded-for.plugin.ts";
import { headerLimits } from "./http/plugins/header-limits.plugin.ts";
import { type HttpMetrics, httpMetrics } from "./http/plugins/http-metrics.plugin.ts";
import { supportAllMethods } from "./http/plugins/methods.plugin.ts";
import { openapi } from "./http/plugins/openapi.plugin.ts";
import { rawBody } from "./http/plugins/raw-body.plugin.ts";
import { requestId } from "./http/plugins/request-id.plugin.ts";
import { securityHeaders } from "./http/plugins/security-headers.plugin.ts";
import { tracing } from "./http/plugins/tracing.plugin.ts";
import { unreadBody } from "./http/plugins/unread-body.plugin.ts";
import { VALIDATION } from "./http/validation.ts";
import { type LiveDeps, liveRoute } from "./live/live.route.ts";
import { type RatingDeps, ratingRoute } from "./rating/rating.route.ts";
import { deleteSessionRoute } from "./sessions/delete-session.route.ts";
import { eraseVisitorRoute } from "./sessions/erase-visitor.route.ts";
import { type ExportDeps, exportSessionRoute } from "./sessions/export-session.route.ts";
import { exportSessionsRoutes } from "./sessions/export-sessions.route.ts";
import { historyRoutes } from "./sessions/history.route.ts";
import { listSessionsRoute } from "./sessions/list-sessions.route.ts";
import { logoRoute } from "./widget/logo.route.ts";
import { widgetAssetRoutes } from "./widget/widget-assets.route.ts";
import { widgetConfigRoute } from "./widget/widget-config.route.ts";

export type AppDeps = ChatDeps &
  DoctorDeps &
  PlaygroundDeps &
  ChallengeRouteDeps &
  ExportDeps &
  LiveDeps &
  HandoffDeps &
  ListHandoffsDeps &
  RatingDeps & {
    isReady: () => boolean;
    /** Whether this process is shutting down. */
    isStopping: () => boolean;
    onRefusal: OnRefusal;
    httpMetrics: HttpMetrics;
  };

export type AppOptions = {
  trustedProxies: readonly string[];
  /** The directory of the built widget. If undefined, the widget is not served. */
  widgetDir: string | undefined;
};

const MAX_HEADER_BYTES = 16 * 1024;
const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** Longer than load balancers' usual idle timeout of 60 s, so that the edge never closes a connection that a load balancer is about to reuse. */
const KEEP_ALIVE_MS = 75_000;
/**
 * The server closes a connection that has no traffic for this long during a request. Must exceed REQUEST_TIMEOUT_MS, after which the client
 * gets 408.
 */
const IDLE_CONNECTION_TIMEOUT_MS = REQUEST_TIMEOUT_MS + 5_000;
/** Node buffers this much for a slow client before write() returns false. */
export const WRITE_BUFFER_BYTES = 16 * 1024;

/** Builds the public HTTP server without listening. */
export async function buildApp(deps: AppDeps, options: AppOptions, log: Logger): Promise<FastifyInstance> {
  // The type without pino's fields, so that `app` has the type that plugins expect.
  const loggerInstance: FastifyBaseLogger = log;
  const app = fastify({
    loggerInstance,
    // Each turn already logs one line.
    logController: new LogController({ disableRequestLogging: true }),
    // Adds no request id: the lines that concern one request name its id, or the id of the turn that it opened, which is the same.
    childLoggerFactory: (logger) => logger,
    genReqId: () => uuidv7(),
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: IDLE_CONNECTION_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    clientErrorHandler: createClientErrorHandler(deps.onRefusal),
    ...VALIDATION,
    // During shutdown, Fastify would send a 503 in an undocumented format.
    return503OnClosing: false,
    // Not `true`, which would let any client forge its address (fastify#5865).
    trustProxy: options.trustedProxies.length === 0 ? false : [...options.trustedProxies],
    exposeHeadRoutes: false,
    // A session id that is too long or cannot be decoded gets the same 404 as any unknown session.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: MAX_HEADER_BYTES },
    rewriteUrl: ({ url = "/" }) => ensureDecodable(url),
    // Node limits the whole request to the longer of headersTimeout (default 60 s) and requestTimeout, so both are set.
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: MAX_HEADER_BYTES,
      highWaterMark: WRITE_BUFFER_BYTES,
      // headerLimits refuses a request without Host, and sends the documented error.
      requireHostHeader: false,
    },
  });
  supportAllMethods(app);
  await app.register(forwardedFor, { unreadableAddresses: deps.httpMetrics.unreadableAddresses });
  await app.register(requestId);
  await app.register(tracing);
  await app.register(httpMetrics, deps.httpMetrics);
  await app.register(securityHeaders);
  await app.register(headerLimits);
  app.addHook("onRequest", (_, reply, done) => {
    // A client that keeps its connection would send its next request to a stopped process.
    if (deps.isStopping()) reply.header("connection", "close");
    done();
  });
  await app.register(rawBody);
  await app.register(unreadBody);
  await app.register(cors);
  // Last, so that 404 responses have the other plugins' headers.
  await app.register(errors, { onRefusal: deps.onRefusal, countMalformed: deps.malformedRequests.count });
  await app.register(openapi);
  healthRoutes(app, deps.isReady);
  chatRoute(app, deps);
  playgroundRoute(app, deps);
  stopRoute(app, deps);
  playgroundStopRoute(app, deps);
  challengeRoute(app, deps);
  ratingRoute(app, deps);
  historyRoutes(app, deps);
  requestHandoffRoute(app, deps);
  contactMessageRoute(app, deps);
  liveRoute(app, deps);
  handoffRoutes(app, deps);
  notesRoutes(app, deps);
  listHandoffsRoutes(app, deps);
  widgetConfigRoute(app, deps);
  logoRoute(app, deps);
  doctorRoute(app, deps);
  exportSessionRoute(app, deps);
  listSessionsRoute(app, deps);
  exportSessionsRoutes(app, deps);
  deleteSessionRoute(app, deps);
  eraseVisitorRoute(app, deps);
  if (options.widgetDir !== undefined) await widgetAssetRoutes(app, options.widgetDir);
  openapiRoute(app);
  return app;
}
