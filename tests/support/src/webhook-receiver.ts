import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";

export type ReceivedWebhook = {
  id: string;
  body: {
    type: string;
    id: string;
    timestamp: string;
    workspace_id: string;
    sequence: number;
    data: Record<string, unknown>;
  };
  headers: IncomingMessage["headers"];
};

export type WebhookReceiver = {
  url: string;
  /** The requests whose signature the specification's library accepts, with those that were answered with an error. */
  received: ReceivedWebhook[];
  /** The requests whose signature it refuses. */
  refused: string[];
  /** The secrets that it accepts. */
  secrets: string[];
  /** By workspace: the only secret that it accepts. With many workspaces, trying each of `secrets` would take too long. */
  secretOf: Map<string, string>;
  /** Answers a request whose signature is valid. */
  respond: (response: ServerResponse, webhook: ReceivedWebhook) => void;
  close(): Promise<void>;
};

/** Starts an HTTP server that verifies each request with the specification's library. By default, it answers 204. */
export async function startWebhookReceiver(...secrets: string[]): Promise<WebhookReceiver> {
  const receiver: WebhookReceiver = {
    url: "",
    received: [],
    refused: [],
    secrets,
    secretOf: new Map(),
    respond: (response) => response.writeHead(204).end(),
    close: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  const server = createServer(async (request, response) => {
    const text = (await request.toArray()).join("");
    const { headers } = request;
    const webhook = { id: String(headers["webhook-id"]), body: verify(receiver, text, headers), headers };
    if (webhook.body === undefined) {
      receiver.refused.push(text);
      response.writeHead(401).end();
      return;
    }
    receiver.received.push(webhook as ReceivedWebhook);
    receiver.respond(response, webhook as ReceivedWebhook);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  return receiver;
}

function verify({ secrets, secretOf }: WebhookReceiver, text: string, headers: IncomingMessage["headers"]): unknown {
  const secret = secretOf.get(/"workspace_id":"([^"]+)"/.exec(text)?.[1] ?? "");
  for (const each of secret === undefined ? secrets : [secret]) {
    try {
      return new Webhook(each).verify(text, headers as Record<string, string>);
    } catch {
      // The next secret may have signed.
    }
  }
  return undefined;
}
