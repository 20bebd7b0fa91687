import type { Logger } from "@parley/service-kit";
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from "fastify";
import { type ChatDeps, chatRoute } from "./chat/chat.route.ts";
import { type PlaygroundDeps, playgroundRoute } from "./chat/playground.route.ts";
import { doctorRoute } from "./doctor/doctor.route.ts";
import { answerUnparsable } from "./http/client-errors.plugin.ts";
import { cors } from "./http/cors.plugin.ts";
import { errors, type OnRefusal } from "./http/errors.plugin.ts";
import { headerLimits } from "./http/header-limits.plugin.ts";
import { healthRoutes } from "./http/health.route.ts";
import { type HttpMetrics, httpMetrics } from "./http/http-metrics.plugin.ts";
import { knowAllMethods } from "./http/methods.plugin.ts";
import { openapiRoute } from "./http/openapi.route.ts";
import { decodable } from "./http/path.ts";
import { rawBody } from "./http/raw-body.plugin.ts";
import { securityHeaders } from "./http/security-headers.plugin.ts";
import { tracing } from "./http/tracing.plugin.ts";
import { unreadBody } from "./http/unread-body.plugin.ts";
import { type RatingDeps, ratingRoute } from "./rating/rating.route.ts";
import { type ExportDeps, exportRoute } from "./sessions/export-session.route.ts";
import { widgetAssetRoutes } from "./widget/widget-assets.route.ts";
import { widgetConfigRoute } from "./widget/widget-config.route.ts";

export type AppDeps = ChatDeps &
  PlaygroundDeps &
  ExportDeps &
  RatingDeps & {
    ready: () => boolean;
    /** Whether this process has begun to stop. */
    stopping: () => boolean;
    /** Told of every refusal: its code and the route it was for. */
    onRefusal: OnRefusal;
    http: HttpMetrics;
  };

export type AppOptions = {
  trustedProxies: readonly string[];
  /** Where the built widget lies; it is not served without. */
  widgetDir: string | undefined;
};

const MAX_HEADER_BYTES = 16 * 1024;
const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** Above the usual 60 s of load balancers, so that it is never we who close a connection they are about to use. */
const KEEP_ALIVE_MS = 75_000;
/** A connection amid a request on which nothing moves for so long is dead. Longer than what else ends one, and can say why. */
const DEAD_CONNECTION_MS = REQUEST_TIMEOUT_MS + 5_000;
/** What Node keeps for a reader that is slow, before it says that it will take no more. */
const WRITE_BUFFER_BYTES = 16 * 1024;

/** The public HTTP server, not yet listening. */
export async function buildApp(deps: AppDeps, options: AppOptions, log: Logger): Promise<FastifyInstance> {
  const app = fastify({
    loggerInstance: log as FastifyBaseLogger,
    // One line a turn, written by the turn itself; a line a request would tell nothing more.
    logController: new LogController({ disableRequestLogging: true }),
    // So no line needs a number of its request either.
    childLoggerFactory: (logger) => logger,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: DEAD_CONNECTION_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    clientErrorHandler: answerUnparsable(deps.onRefusal),
    // While it closes, requests on connections that are still open get their answers, or a refusal in our words.
    return503OnClosing: false,
    // A list of networks: "true" would let anyone name any address (fastify#5865).
    trustProxy: options.trustedProxies.length === 0 ? false : [...options.trustedProxies],
    exposeHeadRoutes: false,
    // No path is refused for its form: what is too long or cannot be decoded is an unknown session like any other.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: MAX_HEADER_BYTES },
    rewriteUrl: ({ url = "/" }) => decodable(url),
    // Of the two timeouts Node takes the longer one for the whole request, so the one for its headers must be given too.
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: MAX_HEADER_BYTES,
      highWaterMark: WRITE_BUFFER_BYTES,
    },
  });
  knowAllMethods(app);
  await app.register(tracing);
  await app.register(httpMetrics, { durations: deps.http.durations });
  await app.register(securityHeaders);
  await app.register(headerLimits);
  app.addHook("onRequest", (_, reply, done) => {
    // A client that keeps its connection would come back to a process that is about to be gone.
    if (deps.stopping()) reply.header("connection", "close");
    done();
  });
  await app.register(rawBody);
  await app.register(unreadBody);
  await app.register(cors);
  // Last, so that the other plugins' headers are on the answer to a path that does not exist.
  await app.register(errors, { onRefusal: deps.onRefusal, countMalformed: deps.malformed.count });
  healthRoutes(app, deps.ready);
  chatRoute(app, deps);
  playgroundRoute(app, deps);
  ratingRoute(app, deps);
  widgetConfigRoute(app, deps);
  doctorRoute(app, deps);
  exportRoute(app, deps);
  if (options.widgetDir !== undefined) await widgetAssetRoutes(app, options.widgetDir);
  openapiRoute(app);
  return app;
}
