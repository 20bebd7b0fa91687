import { type Asset, loadAssets, pickEncoding } from "@parley/widget";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

/** Serves the widget, its second stage and the playground from a build directory. The files are precompressed. */
export async function widgetAssetRoutes(app: FastifyInstance, directory: string): Promise<void> {
  for (const [path, asset] of await loadAssets(directory)) {
    app.route({ method: ["GET", "HEAD"], url: path, handler: async (request, reply) => send(asset, request, reply) });
  }
}

function send(asset: Asset, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.headers(asset.headers);
  if (request.headers["if-none-match"] === asset.headers.etag) return reply.code(304).send();
  const encoding = pickEncoding(request.headers["accept-encoding"]);
  if (encoding !== "identity") reply.header("content-encoding", encoding);
  return reply.send(asset.bodies[encoding]);
}
