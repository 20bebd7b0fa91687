import {
  createJwks,
  createTokenVerifier,
  type Lifecycle,
  type Logger,
  MemberCallLimiter,
  openSecret,
  type ServiceMetrics,
  startOpsServer,
  watchCertificates,
} from "@parley/service-kit";
import type { FastifyInstance } from "fastify";
import { buildApp } from "./app.ts";
import { createAdminCalls } from "./calls/admin-calls.client.ts";
import { createCallEdge } from "./calls/edge.client.ts";
import { type Config, isLoopbackHost } from "./config.ts";
import { createMetrics } from "./metrics.ts";
import { createAuthenticate, createReadSessionInfo } from "./sign-in/authenticate.ts";
import { createSessionCookies } from "./sign-in/cookies.ts";
import { createProviderClient } from "./sign-in/provider.client.ts";

const IDLE_CHECK_MS = 100;

/** Starts the console. At shutdown, the HTTP server has `drainMs` to complete its open requests. Then the other parts stop. */
export async function start(
  config: Config,
  log: Logger,
  lifecycle: Lifecycle,
  { registry, reloadRefusals }: ServiceMetrics,
): Promise<void> {
  watchCertificates({ opsTlsDir: config.opsTlsDir, registry, reloadRefusals }, log, lifecycle);
  const metrics = createMetrics(registry);
  const { jwt, signIn, origin } = config;
  const nowMs = () => Date.now();
  const isStopping = () => lifecycle.isClosing;
  const isReady = () => !isStopping();
  const onResponse = (method: string, status: number) => metrics.calls.inc({ method, status });
  const secretOptions = { log, lifecycle, reloadRefusals };
  const cookies = createSessionCookies(openSecret(config.sessionSecrets, secretOptions).current, nowMs);
  const clientSecret = signIn.clientSecret && openSecret(signIn.clientSecret, secretOptions);
  const jwks = createJwks({ url: jwt.jwksUrl, now: () => performance.now() }, log);
  jwks.start();
  lifecycle.onClose("key set", () => jwks.stop());
  const app = await buildApp(
    {
      cookies,
      provider: createProviderClient({
        ...signIn,
        issuer: jwt.issuer,
        clientSecret: clientSecret?.current,
        redirectUri: `${origin}/auth/callback`,
        allowsHttp: isLoopbackHost(new URL(jwt.issuer).hostname),
      }),
      tokenOptions: jwt,
      origin,
      nowMs,
      onResult: (result) => metrics.signIns.inc({ result }),
      authenticate: createAuthenticate(cookies, jwt, createTokenVerifier(jwt, jwks), nowMs),
      readSessionInfo: createReadSessionInfo(cookies, jwt, nowMs),
      limiter: new MemberCallLimiter(),
      adminCalls: createAdminCalls(config.adminUrls, onResponse),
      callEdge: createCallEdge(config.edgeUrl),
      onResponse,
      edgeUrl: config.edgeUrl,
      isReady,
      isStopping,
      httpMetrics: metrics,
    },
    {
      pageDir: config.pageDir,
      widgetDir: config.widgetDir,
      publicEdgeUrl: config.publicEdgeUrl ?? config.edgeUrl,
    },
    log,
  );
  await startOpsServer(
    { host: config.opsHost, port: config.opsPort, tlsDir: config.opsTlsDir, registry, isReady },
    log,
    lifecycle,
  );
  await app.listen({ host: config.publicHost, port: config.publicPort });
  lifecycle.onClose("http server", () => closeWhenIdle(app), config.drainMs);
}

/**
 * Closes the server after its open requests have completed. Node closes only the connections that are idle when the close begins, so a timer
 * closes those that become idle later.
 */
async function closeWhenIdle(app: FastifyInstance): Promise<void> {
  const timer = setInterval(() => app.server.closeIdleConnections(), IDLE_CHECK_MS);
  try {
    await app.close();
  } finally {
    clearInterval(timer);
  }
}
