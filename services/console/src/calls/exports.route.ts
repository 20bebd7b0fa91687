import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import type { FastifyInstance } from "fastify";
import { clientGone, HttpError } from "../http/index.ts";
import type { Authenticate } from "../sign-in/index.ts";
import { CONVERSATIONS_PATH, type FetchFromEdge } from "./owner-api.client.ts";

export type ExportDeps = { authenticate: Authenticate; fetchFromEdge: FetchFromEdge };

const EXPORTS = ["export.csv", "export.ndjson"];
const FORWARDED_HEADERS = ["content-type", "content-disposition", "cache-control", "vary", "retry-after"];

/** GET /api/conversations/export.csv and export.ndjson: streams the edge's export with the owner's token, for a link of the page. */
export function exportRoutes(app: FastifyInstance, { authenticate, fetchFromEdge }: ExportDeps): void {
  for (const name of EXPORTS) {
    app.get(CONVERSATIONS_PATH + name, async (request, reply) => {
      const { authorization } = await authenticate(request);
      let response: Response;
      try {
        // Not request.url, which may name another host.
        const [, query = ""] = request.url.split("?", 2);
        response = await fetchFromEdge(`${CONVERSATIONS_PATH}${name}?${query}`, { authorization }, clientGone(reply));
      } catch (cause) {
        throw new HttpError(503, "unavailable", { "retry-after": "1" }, { cause });
      }
      for (const header of FORWARDED_HEADERS) {
        const value = response.headers.get(header);
        if (value !== null) reply.header(header, value);
      }
      reply.code(response.status);
      return reply.send(response.body === null ? "" : Readable.fromWeb(response.body as ReadableStream));
    });
  }
}
