import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { fetchManifest } from "./load-panel.ts";

test("fetchManifest ends at its deadline if the server does not answer", async () => {
  const server = createServer(() => undefined);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => server.closeAllConnections());
  onTestFinished(() => void server.close());
  const deadline = AbortSignal.timeout(50);
  const timeout = vi.spyOn(AbortSignal, "timeout").mockReturnValue(deadline);
  onTestFinished(() => timeout.mockRestore());
  await expect(fetchManifest(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)).rejects.toThrow("timeout");
  expect(timeout).toHaveBeenCalledWith(10_000);
});
