import { type Asset, loadAssets, matchesEtag, pickEncoding } from "@parley/widget";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

/** Serves the built files of the widget and of the playground from a directory. The files are precompressed. */
export async function widgetAssetRoutes(app: FastifyInstance, directory: string): Promise<void> {
  for (const [path, asset] of await loadAssets(directory)) {
    app.route({ method: ["GET", "HEAD"], url: path, handler: async (request, reply) => send(asset, request, reply) });
  }
}

function send(asset: Asset, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const encoding = pickEncoding(request.headers["accept-encoding"]);
  const etag = asset.etags[encoding];
  reply.headers(asset.headers).header("etag", etag);
  if (matchesEtag(request.headers["if-none-match"], etag)) return reply.code(304).send();
  if (encoding !== "identity") reply.header("content-encoding", encoding);
  return reply.send(asset.bodies[encoding]);
}
