import { setTimeout as sleep } from "node:timers/promises";
import { type RpcClient, RpcError, status } from "@parley/rpc";
import type { ConversationService } from "@parley/rpc/conversation";
import { expect, onTestFinished, test, vi } from "vitest";
import { createKeyResolver } from "./public-keys.client.ts";

const FOUND = {
  workspaceId: "ws",
  botId: "bot",
  allowedDomains: [],
  display: undefined,
  verificationKeys: [],
  identity: "",
  visitorMessagesPerDay: 0,
  challenge: "",
};

/** Slightly longer than the window in which failed lookups are counted. */
const WINDOW_MS = 1_050;

/** Only keys that contain `valid` exist. The lookup of a key that contains `slow` takes until `finishSlow` is called. */
function createResolver() {
  const lookedUp: string[] = [];
  const { promise: finished, resolve: finishSlow } = Promise.withResolvers<void>();
  const resolveKey = async ({ publicKey }: { publicKey: string }) => {
    lookedUp.push(publicKey);
    if (publicKey.includes("slow")) await finished;
    if (!publicKey.includes("valid")) throw new RpcError(status.NOT_FOUND, "invalid_api_key", "no such key");
    return FOUND;
  };
  const { resolveKey: resolve } = createKeyResolver({ resolveKey } as unknown as RpcClient<typeof ConversationService>);
  const statusOf = (publicKey: string, client = "client") =>
    resolve(publicKey, client).then(
      () => 200,
      (error: { status: number }) => error.status,
    );
  return { statusOf, finishSlow, lookedUp };
}

const keys = (name: string, count: number) => Array.from({ length: count }, (_, index) => `svc_pk_${name}_${index}`);

test("a client may look up 20 unknown keys a second, and any number of valid ones", async () => {
  const { statusOf } = createResolver();
  for (const key of keys("valid", 30)) expect(await statusOf(key)).toBe(200);
  for (const key of keys("unknown", 20)) expect(await statusOf(key)).toBe(401);
  expect(await statusOf("svc_pk_other")).toBe(429);
  expect(await statusOf("svc_pk_other", "another client")).toBe(401);
  await sleep(WINDOW_MS);
  expect(await statusOf("svc_pk_late")).toBe(401);
});

test("the clients of an IPv6 /56 together may look up 80 unknown keys a second, and those of a /48 320", async () => {
  const { statusOf } = createResolver();
  const refused = async (name: string, count: number, client: (index: number) => string) => {
    const statuses = await Promise.all(keys(name, count).map((key, index) => statusOf(key, client(index))));
    return statuses.filter((each) => each === 429).length;
  };
  expect(await refused("a", 100, (index) => `2001:db8:1:ab${(index + 16).toString(16)}::/64`)).toBe(20);
  expect(await refused("b", 256, (index) => `2001:db8:1:${(index + 16).toString(16)}00::/64`)).toBe(16);
  expect(await refused("c", 1, () => "2001:db8:2:1::/64")).toBe(0);
});

test("when a slow lookup of a valid key ends in a later second, that second's limit for unknown keys stays 20", async () => {
  const { statusOf, finishSlow, lookedUp } = createResolver();
  const slow = keys("slow_valid", 20).map((key) => statusOf(key));
  await sleep(WINDOW_MS);
  const first = await Promise.all(keys("unknown", 20).map((key) => statusOf(key)));
  expect(first).toEqual(Array(20).fill(401));
  finishSlow();
  expect(await Promise.all(slow)).toEqual(Array(20).fill(200));
  expect(await statusOf("svc_pk_other")).toBe(429);
  expect(lookedUp).toHaveLength(40);
});

test("an unknown key is looked up again 4 s after its previous lookup started", async () => {
  const { statusOf, finishSlow, lookedUp } = createResolver();
  const now = vi.spyOn(performance, "now");
  onTestFinished(() => now.mockRestore());
  now.mockReturnValue(10_000);
  const first = statusOf("svc_pk_slow_new");
  now.mockReturnValue(11_500);
  finishSlow();
  expect(await first).toBe(401);
  // The cache reads the clock again only after a millisecond of real time.
  await sleep(5);
  now.mockReturnValue(13_900);
  expect(await statusOf("svc_pk_slow_new")).toBe(401);
  expect(lookedUp).toHaveLength(1);
  await sleep(5);
  now.mockReturnValue(14_001);
  expect(await statusOf("svc_pk_slow_new")).toBe(401);
  expect(lookedUp).toHaveLength(2);
});

test("a NOT_FOUND that the conversation service did not send is no unknown key, and is not cached", async () => {
  const failures = [new RpcError(status.NOT_FOUND, "not_found", "no route", { isFromParley: false })];
  const resolveKey = async () => {
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    return FOUND;
  };
  const { resolveKey: resolve } = createKeyResolver({ resolveKey } as unknown as RpcClient<typeof ConversationService>);
  await expect(resolve("svc_pk_valid", "client")).rejects.toMatchObject({ status: 503, code: "unavailable" });
  await expect(resolve("svc_pk_valid", "client")).resolves.toMatchObject({ workspaceId: FOUND.workspaceId });
});
