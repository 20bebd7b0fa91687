import { join } from "node:path";
import fastifyStatic from "@fastify/static";
import { type Asset, loadAssets, matchesEtag, pickEncoding } from "@parley/widget";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { createContentSecurityPolicy, createNonce, HttpError } from "../http/index.ts";
import type { ReadSessionInfo, SessionInfo } from "../sign-in/index.ts";
import { fillPage } from "./fill-page.ts";
import { readPageFiles } from "./page-files.client.ts";

export type PageOptions = { pageDir: string; widgetDir: string; publicEdgeUrl: string };
export type PageDeps = { readSessionInfo: ReadSessionInfo };

/** An unknown path that matches gets 404. Any other unknown path gets the page. */
const BACKEND_PATHS = /^\/(?:api|auth|assets|healthz|widget)(?:\/|$)/;

/** Serves the page, its assets, and the widget for the preview. The page contains a new nonce and, after a sign-in, the owner's session. */
export async function pageRoutes(
  app: FastifyInstance,
  { readSessionInfo }: PageDeps,
  options: PageOptions,
): Promise<void> {
  const files = await readPageFiles(options.pageDir);
  await app.register(fastifyStatic, {
    root: join(options.pageDir, "assets"),
    prefix: "/assets/",
    preCompressed: true,
    immutable: true,
    maxAge: "365d",
    decorateReply: false,
    index: false,
  });
  for (const [path, asset] of await loadAssets(options.widgetDir)) {
    // The console's page has its own playground screen at this path.
    if (path === "/playground") continue;
    app.get(path, async (request, reply) => sendWidgetFile(asset, request, reply));
  }

  app.get("/preview", async (_, reply) => sendPage(reply, files.preview, "'self'", undefined));
  app.setNotFoundHandler(async (request, reply) => {
    const [path = "/"] = request.url.split("?");
    if (!["GET", "HEAD"].includes(request.method) || BACKEND_PATHS.test(path)) throw new HttpError(404, "not_found");
    return sendPage(reply, files.console, "'none'", await readSessionInfo(request));
  });

  function sendPage(
    reply: FastifyReply,
    html: string,
    frameAncestors: "'none'" | "'self'",
    session: SessionInfo | undefined,
  ): FastifyReply {
    const nonce = createNonce();
    return reply
      .header("content-type", "text/html; charset=utf-8")
      .header("cache-control", "no-store")
      .header("content-security-policy", createContentSecurityPolicy(nonce, frameAncestors))
      .send(fillPage(html, { nonce, edgeUrl: options.publicEdgeUrl, session }));
  }
}

function sendWidgetFile(asset: Asset, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const encoding = pickEncoding(request.headers["accept-encoding"]);
  const etag = asset.etags[encoding];
  reply.headers(asset.headers).header("etag", etag);
  if (matchesEtag(request.headers["if-none-match"], etag)) return reply.code(304).send();
  if (encoding !== "identity") reply.header("content-encoding", encoding);
  return reply.send(asset.bodies[encoding]);
}
