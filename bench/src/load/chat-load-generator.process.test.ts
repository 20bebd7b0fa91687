import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { startLoad } from "../support/load.ts";

const EVENTS = 'event: token\ndata: {"text":"a"}\n\nevent: token\ndata: {"text":"b"}\n\nevent: done\ndata: {}\n\n';

test("counts the token events of a response whose chunks end inside an event's name", async () => {
  const server = createServer(async (_, response) => {
    // Each chunk except the last ends after "event: to" or "event: do".
    for (const chunk of EVENTS.split(/(?<=event: (?:to|do))/)) {
      response.write(chunk);
      await sleep(20);
    }
    response.end();
  });
  try {
    await once(server.listen(0, "127.0.0.1"), "listening");
    const load = startLoad({
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      body: "{}",
      headers: {},
      callers: 1,
      turns: 3,
      warmUpTurns: 0,
      usesNewClientAddressPerRequest: false,
    });
    await load.ready;
    expect(await load.run()).toMatchObject({ turns: 3, failed: 0, tokens: 6 });
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
