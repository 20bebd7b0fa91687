import plugin from "fastify-plugin";
import { isApiRoute, REQUEST_ID_HEADER, routeOf } from "../request.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** The public key that the client sent, valid or not. Empty until a route has read it. */
    publicKey: string;
    /** The workspace of the access token. Empty until a route has verified the token. */
    workspaceId: string;
  }
}

/** Sends the id of each API request in a header, and prepares what identifies a refused request to operators. */
export const requestId = plugin(
  async (app) => {
    app.decorateRequest("publicKey", "");
    app.decorateRequest("workspaceId", "");
    app.addHook("onRequest", (request, reply, done) => {
      if (isApiRoute(routeOf(request))) reply.header(REQUEST_ID_HEADER, request.id);
      done();
    });
  },
  { name: "request-id" },
);
