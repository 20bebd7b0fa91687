import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { vi } from "vitest";

/** The token that Kubernetes gives to the pod. */
export const POD_TOKEN = "token-of-the-pod";

export type TokenService = {
  /** The bodies of the requests for tokens. */
  requests: string[];
  /** From now on, the service refuses requests. */
  refuse(): void;
  /** From now on, the service does not answer. */
  hang(): void;
  close(): Promise<void>;
};

/** A response without a token, such as a document about the service, has `isOther`, and its request is not recorded. */
export type TokenResponse = { status: number; contentType: string; body: string; isOther?: boolean };

export type TokenServiceOptions = {
  /** Answers a request for a path. */
  respond(request: { path: string; isRefusing: boolean }): TokenResponse;
  /** Writes files to `folder` and returns the environment variables that make this process use the service, as on Kubernetes. */
  configure(service: { url: string; folder: string; tokenPath: string }): Record<string, string>;
  /** Creates the server; by default one without TLS. */
  create?(listener: (request: IncomingMessage, response: ServerResponse) => void): Server;
};

/** Starts a cloud's token service, which exchanges the pod's token, and sets the environment variables of this process for it. */
export async function startTokenService(options: TokenServiceOptions): Promise<TokenService> {
  const { respond, configure, create = createServer } = options;
  let state: "issuing" | "refusing" | "hanging" = "issuing";
  const requests: string[] = [];
  const server = create((request, response) => {
    void text(request).then((requestBody) => {
      const path = request.url ?? "/";
      const { status, contentType, body, isOther } = respond({ path, isRefusing: state === "refusing" });
      if (!isOther) requests.push(requestBody);
      if (state === "hanging" && !isOther) return;
      response.writeHead(status, { "content-type": contentType }).end(body);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const folder = mkdtempSync(join(tmpdir(), "cloud-"));
  const tokenPath = join(folder, "token");
  writeFileSync(tokenPath, POD_TOKEN);
  const url = `${options.create === undefined ? "http" : "https"}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const [name, value] of Object.entries(configure({ url, folder, tokenPath }))) vi.stubEnv(name, value);
  return {
    requests,
    refuse: () => {
      state = "refusing";
    },
    hang: () => {
      state = "hanging";
    },
    async close() {
      vi.unstubAllEnvs();
      rmSync(folder, { recursive: true });
      server.closeAllConnections();
      await once(server.close(), "close");
    },
  };
}
