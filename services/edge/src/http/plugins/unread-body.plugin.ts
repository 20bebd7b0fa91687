import type { IncomingMessage } from "node:http";
import plugin from "fastify-plugin";

/** The pause after each chunk of 64 KiB limits a connection to 13 MB/s. Reading at this speed takes less than 1 % of a core. */
const PAUSE_MS = 5;

/**
 * When a response is about to be sent, starts to discard the rest of the request's body, so that a client that is still sending can read the
 * response. Without this plugin, Node would discard the body at the speed of the network, and could read 2 MiB from one connection before serving
 * the next connection.
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

/** Reads and drops chunks, with a pause after each, until the body ends or the request timeout closes the connection. */
function discard(raw: IncomingMessage): void {
  raw.on("data", () => {
    raw.pause();
    setTimeout(() => raw.resume(), PAUSE_MS);
  });
}
