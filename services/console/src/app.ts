import cookie from "@fastify/cookie";
import { type Logger, MAX_UPLOAD_WAIT_MS } from "@parley/service-kit";
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from "fastify";
import { CALL_TIMEOUTS_MS } from "./calls/admin-calls.client.ts";
import { type CallDeps, callRoutes } from "./calls/calls.route.ts";
import { type ExportDeps, exportRoutes } from "./calls/exports.route.ts";
import { type HandoffDeps, handoffRoutes } from "./calls/handoffs.route.ts";
import { type PlaygroundDeps, playgroundRoutes } from "./calls/playground.route.ts";
import { errors } from "./http/errors.plugin.ts";
import { healthRoutes } from "./http/health.route.ts";
import { type HttpMetrics, httpMetrics } from "./http/http-metrics.plugin.ts";
import { sameOrigin } from "./http/same-origin.plugin.ts";
import { securityHeaders } from "./http/security-headers.plugin.ts";
import { type PageDeps, type PageOptions, pageRoutes } from "./page/page.route.ts";
import { type SignInDeps, signInRoutes } from "./sign-in/sign-in.route.ts";

export type AppDeps = SignInDeps &
  CallDeps &
  ExportDeps &
  HandoffDeps &
  PlaygroundDeps &
  PageDeps & {
    isReady: () => boolean;
    /** Whether this process is shutting down. */
    isStopping: () => boolean;
    httpMetrics: HttpMetrics;
  };

/** Receiving a body may take 120 s, and an upload may wait before its body is received. */
const REQUEST_TIMEOUT_MS = 120_000 + MAX_UPLOAD_WAIT_MS;
/**
 * The server closes a connection that has no traffic for this long during a request. The longest legitimate pause is the wait for AddSource or
 * EraseSession.
 */
const IDLE_CONNECTION_TIMEOUT_MS = CALL_TIMEOUTS_MS.slowCall + 5_000;
/** Longer than load balancers' usual idle timeout of 60 s, so that the console never closes a connection that a load balancer is about to reuse. */
const KEEP_ALIVE_MS = 75_000;
/** Leaves room for the cookies of a sign-in session and of other applications on the same host. */
const MAX_HEADER_BYTES = 32 * 1024;

/** Builds the console's HTTP server without listening. */
export async function buildApp(deps: AppDeps, page: PageOptions, log: Logger): Promise<FastifyInstance> {
  const app = fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: IDLE_CONNECTION_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    return503OnClosing: false,
    exposeHeadRoutes: false,
    routerOptions: { ignoreTrailingSlash: true },
    http: { maxHeaderSize: MAX_HEADER_BYTES },
  });
  await app.register(httpMetrics, deps.httpMetrics);
  await app.register(securityHeaders);
  await app.register(errors);
  await app.register(sameOrigin, { origin: deps.origin });
  await app.register(cookie);
  app.addHook("onRequest", (_, reply, done) => {
    // Otherwise the browser would keep the connection and send its next request to a stopped process.
    if (deps.isStopping()) reply.header("connection", "close");
    done();
  });
  // Routes receive every body as a Buffer, because most of them forward it unchanged.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_, body, done) => done(null, body));
  healthRoutes(app, deps.isReady);
  signInRoutes(app, deps);
  callRoutes(app, deps);
  exportRoutes(app, deps);
  handoffRoutes(app, deps);
  playgroundRoutes(app, deps);
  await pageRoutes(app, deps, page);
  return app;
}
