import type { IncomingMessage } from "node:http";
import plugin from "fastify-plugin";

/**
 * Discards what is left of a request's body once it is answered, so that a client that is still sending can read the answer. Node
 * would do it too, but read up to 2 MiB of each connection before it turns to the next one.
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

/** Reads one piece in each turn of the event loop; the request timeout ends it. */
function discard(raw: IncomingMessage): void {
  raw.on("data", () => {
    raw.pause();
    setImmediate(() => raw.resume());
  });
}
