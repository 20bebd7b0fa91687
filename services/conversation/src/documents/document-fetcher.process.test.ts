import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createLogger, EgressPolicy } from "@parley/service-kit";
import { expect, onTestFinished, test } from "vitest";
import { DocumentFetcher } from "./document-fetcher.service.ts";

const MiB = 1024 * 1024;
const TYPE = { "content-type": "text/plain" };
const egress = { policy: new EgressPolicy(["127.0.0.2/32"]) };
const log = createLogger("test", "silent");
const { signal } = new AbortController();
const TOO_MANY = { code: "too_many_documents" };

async function startServer(listener: RequestListener) {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url ?? "");
    response.on("error", () => undefined);
    listener(request, response);
  }).listen(0, "127.0.0.2");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { requests, origin: `http://127.0.0.2:${(server.address() as AddressInfo).port}` };
}

const nothing = () => Promise.resolve();

/** Sends one byte every 20 ms, for ever. */
const drip: RequestListener = async (_, response) => {
  response.writeHead(200, TYPE);
  while (!response.destroyed && response.write("x")) await sleep(20);
};

test.each<[string, RequestListener, string]>([
  ["sends no head", () => undefined, "timeout"],
  ["sends one byte at a time", drip, "timeout"],
  [
    "redirects slowly",
    (_, response) => void setTimeout(() => response.writeHead(302, { location: "/again" }).end(), 150),
    "timeout",
  ],
  [
    "redirects for ever",
    (_, response) => void response.writeHead(302, { location: "/again" }).end(),
    "too_many_redirects",
  ],
])(
  "the fetch from a server that %s ends at its total deadline or earlier, and frees its place",
  async (_, listener, code) => {
    const { origin } = await startServer(listener);
    const fetcher = new DocumentFetcher({ egress, log, maxBytes: MiB, timeoutMs: 500 });
    const startedAtMs = performance.now();
    const results = await Promise.allSettled(
      [1, 2, 3].map((index) => fetcher.withDocument({ workspaceId: "a", url: `${origin}/${index}`, signal }, nothing)),
    );
    // On a busy machine, the redirects may take until the deadline.
    const codes = [code, "timeout"];
    for (const result of results)
      expect(codes).toContain(result.status === "rejected" ? result.reason.code : undefined);
    // Two at once, so the third one waits for a place.
    expect(performance.now() - startedAtMs).toBeLessThan(10_000);
  },
);

test("a workspace has two fetches at once, and all have 16, which workspaces get in turn", async () => {
  const { origin, requests } = await startServer(() => undefined);
  const fetcher = new DocumentFetcher({ egress, log, maxBytes: MiB });
  const canceller = new AbortController();
  const fetches = "abcdefghij".split("").flatMap((workspaceId) =>
    Array.from({ length: 5 }, () => {
      const request = { workspaceId, url: `${origin}/${workspaceId}`, signal: canceller.signal };
      return fetcher.withDocument(request, nothing).catch(() => undefined);
    }),
  );
  await expect.poll(() => requests.length).toBe(16);
  await sleep(200);
  expect(requests.toSorted().join("")).toBe("/a/a/b/b/c/c/d/d/e/e/f/f/g/g/h/h");
  canceller.abort();
  await Promise.all(fetches);
});

test("a caller that cancels frees its place at once", async () => {
  const { origin, requests } = await startServer(() => undefined);
  const fetcher = new DocumentFetcher({ egress, log, maxBytes: MiB });
  for (let index = 0; index < 5; index++) {
    const canceller = new AbortController();
    const fetch = fetcher.withDocument(
      { workspaceId: "a", url: `${origin}/${index}`, signal: canceller.signal },
      nothing,
    );
    await expect.poll(() => requests.length).toBe(index + 1);
    canceller.abort();
    await expect(fetch).rejects.toThrow("abort");
  }
});

test("the fetched bytes in memory are bounded until they are used, and freed afterwards", async () => {
  const { origin } = await startServer((_, response) => response.writeHead(200, TYPE).end("x".repeat(3 * MiB)));
  const fetcher = new DocumentFetcher({ egress, log, maxBytes: 16 * MiB, maxHeldBytes: 8 * MiB });
  const release = Promise.withResolvers<void>();
  const held: string[] = [];
  const fetch = (workspaceId: string) =>
    fetcher.withDocument({ workspaceId, url: origin, signal }, async () => {
      held.push(workspaceId);
      await release.promise;
    });
  const [a, b] = [fetch("a"), fetch("b")];
  await expect.poll(() => held.length, { timeout: 10_000 }).toBe(2);
  await expect(fetch("c")).rejects.toMatchObject(TOO_MANY);
  release.resolve();
  await Promise.all([a, b]);
  await fetch("c");
  expect(held.slice(0, 2).sort()).toEqual(["a", "b"]);
  expect(held[2]).toBe("c");
}, 30_000);

test("a workspace holds at most 20 MiB of fetched content", async () => {
  const { origin } = await startServer((_, response) => response.writeHead(200, TYPE).end("x".repeat(12 * MiB)));
  const fetcher = new DocumentFetcher({ egress, log, maxBytes: 16 * MiB });
  const release = Promise.withResolvers<void>();
  const isHeld = Promise.withResolvers<void>();
  const first = fetcher.withDocument({ workspaceId: "a", url: origin, signal }, () => {
    isHeld.resolve();
    return release.promise;
  });
  await isHeld.promise;
  await expect(fetcher.withDocument({ workspaceId: "a", url: origin, signal }, nothing)).rejects.toMatchObject(
    TOO_MANY,
  );
  await fetcher.withDocument({ workspaceId: "b", url: origin, signal }, nothing);
  release.resolve();
  await first;
}, 30_000);
