import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { computeActivity } from "./activity.ts";
import { drawActivity } from "./draw.ts";
import { scrapeReplicas } from "./scrape.ts";

async function startServer(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("reports why the metrics of a replica cannot be read", async () => {
  const edge = await startServer((_, response) => response.end("parley_streams_open 3\n"));
  const conversation = await startServer((_, response) => response.writeHead(404).end());
  const quota = await startServer((_, response) => response.end("#".repeat(8 * 1024 * 1024 + 1)));
  const llm = await startServer((request) => request.socket.destroy());
  const sample = await scrapeReplicas({
    edge: [edge],
    conversation: [conversation],
    quota: [quota],
    "llm-proxy": [llm],
  });
  const activity = computeActivity([sample], null);
  expect(activity.streams_open).toBe(3);
  expect(activity.replicas.map(({ up }) => up)).toEqual([true, false, false, false]);
  const problems = [
    `conversation at ${conversation} returned status 404`,
    `quota at ${quota} returned more than 8 MiB`,
    `llm-proxy at ${llm} is unreachable`,
  ];
  expect(activity.problems).toEqual(problems);
  const lines = drawActivity(activity, { width: 200, height: 100, color: false });
  expect(lines.filter((line) => line.includes("!")).map((line) => line.trim())).toEqual(
    problems.map((problem) => `! ${problem}`),
  );
});
