import type { IncomingMessage } from "node:http";
import plugin from "fastify-plugin";

/**
 * Discards the rest of a request's body once the response is sent, so that a client that is still sending can read the response. Node does
 * so too, but reads up to 2 MiB from one connection before it serves the next.
 */
export const unreadBody = plugin(
  async (app) => {
    app.addHook("onSend", ({ raw }, _reply, _payload, done) => {
      if (!raw.complete) discard(raw);
      done();
    });
  },
  { name: "unread-body" },
);

/** Reads one chunk per iteration of the event loop. The request timeout ends it. */
function discard(raw: IncomingMessage): void {
  raw.on("data", () => {
    raw.pause();
    setImmediate(() => raw.resume());
  });
}
