import { setTimeout as sleep } from "node:timers/promises";
import { createDatabase, startTcpProxy } from "@parley/test-support";
import { describe, it } from "vitest";
import { openExternalDatabase } from "./database.ts";

describe("openExternalDatabase", () => {
  it("waits for a server that responds after more than five seconds", async () => {
    const database = await createDatabase();
    const url = new URL(database.url);
    const proxy = await startTcpProxy({ targetPort: Number(url.port) });
    url.port = String(proxy.port);
    proxy.stall();
    const resumed = sleep(5_500).then(() => proxy.resume());
    await openExternalDatabase(url.href);
    await resumed;
    await proxy.close();
    await database.drop();
  });
});
