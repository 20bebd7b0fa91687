import { createServer } from "node:http";
import { env } from "node:process";
import { Webhook } from "standardwebhooks";

/**
 * Starts a receiver of webhooks, and passes each verified event to `handle` once. It answers 500 if `handle` fails, so that Parley sends the event again.
 * It remembers the events until it ends: in production, store their ids in your database, in the transaction that handles them.
 */
export function receive(handle) {
  const webhook = new Webhook(env.WEBHOOK_SECRET);
  const handled = new Set();
  const server = createServer(async (request, response) => {
    let event;
    try {
      const body = Buffer.concat(await request.toArray()).toString();
      event = webhook.verify(body, request.headers);
    } catch {
      return response.writeHead(401).end("invalid signature");
    }
    try {
      if (!handled.has(event.id)) await handle(event);
      handled.add(event.id);
      response.writeHead(204).end();
    } catch (error) {
      response.writeHead(500).end(error.message);
    }
  });
  server.listen(env.PORT ?? 3000);
}

/** Posts a JSON document. Throws unless the server accepts it. */
export async function post(url, document, headers = {}) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(document),
    signal: AbortSignal.timeout(5_000),
  });
  if (!response.ok) throw new Error(`${new URL(url).host} answered ${response.status}`);
}
