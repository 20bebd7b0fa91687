import { describeWith } from "@parley/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readBalance } from "../system/books.ts";
import { isFull } from "../system/full.ts";
import { type EdgeStage, startEdgeStage } from "./edge-stage.ts";
import { behindNginxSuite } from "./suites/behind-nginx.ts";
import { brokenWiresSuite } from "./suites/broken-wires.ts";
import { capsSuite } from "./suites/caps.ts";
import { drainSuite } from "./suites/drain.ts";
import { floodsSuite } from "./suites/floods.ts";
import { beginFrozenPeer, frozenPeersSuite } from "./suites/frozen-peers.ts";
import { inputSuite } from "./suites/input.ts";
import { leavingSuite } from "./suites/leaving.ts";
import { limitsSuite } from "./suites/limits.ts";
import { logsSuite } from "./suites/logs.ts";
import { beginLongStreams, longStreamsSuite } from "./suites/long-streams.ts";
import { protocolSuite } from "./suites/protocol.ts";
import { providerFaultsSuite } from "./suites/provider-faults.ts";
import { beginSlowReaders, slowReadersSuite } from "./suites/slow-readers.ts";
import { wholeRepliesSuite } from "./suites/whole-replies.ts";

// One system for all that visitors, providers, networks and rollouts can do to it. Each suite has tenants and client addresses of its
// own; what takes long by its nature begins first, on edges and replicas of its own, and is looked at last.
describe("the edge", () => {
  let stage: EdgeStage;
  const frozen = once(() => {
    const begun = {
      conversation: beginFrozenPeer(stage.system, "conversation"),
      quota: beginFrozenPeer(stage.system, "quota"),
      "llm-proxy": beginFrozenPeer(stage.system, "llm-proxy"),
    };
    // A failure is the test's to report, not the process's.
    for (const each of Object.values(begun)) each.catch(() => undefined);
    return begun;
  });
  const slowReaders = once(() => {
    const begun = beginSlowReaders(stage.system);
    begun.catch(() => undefined);
    return begun;
  });
  const longStreams = once(() => {
    const begun = beginLongStreams(stage.system);
    begun.catch(() => undefined);
    return begun;
  });

  beforeAll(async () => {
    stage = await startEdgeStage();
    // In full each has the machine to itself.
    if (isFull) return;
    frozen();
    void slowReaders();
    void longStreams();
  });
  afterAll(async () => {
    // A peer that is still frozen cannot be told to stop.
    if (!isFull) await Promise.allSettled(Object.values(frozen()));
    await stage.stop();
  });

  const shared = () => stage;
  describe("what is no request", () => protocolSuite(shared));
  describe("a provider that fails", () => providerFaultsSuite(shared));
  describe("a broken wire", () => brokenWiresSuite(shared));
  describe("drain", () => drainSuite(shared));
  describe("a visitor who leaves after a whole reply", () => wholeRepliesSuite(shared));
  describe("caps", () => capsSuite(shared));
  describeWith("nginx", "behind nginx", () => behindNginxSuite(shared));
  describe("a frozen peer", () => frozenPeersSuite(frozen));
  describe("slow readers", () => slowReadersSuite(slowReaders));
  describe("long streams", () => longStreamsSuite(longStreams));
  // From here on what is measured has the machine to itself.
  describe("visitors who leave", () => leavingSuite(shared));
  describeWith("redis-server", "rate limits on one Redis", () => limitsSuite(shared));
  describe("any input", () => inputSuite(shared));
  describe("floods", () => floodsSuite(shared));

  test("after all of it nothing is held, and the books balance", async () => {
    await expect
      .poll(() => readBalance(stage.system.database), { timeout: 50_000, interval: 500 })
      .toMatchObject({ held: 0, streaming: 0, outbox: 0, unbalanced: 0 });
  });

  describe("the logs", () => logsSuite(shared));
});

/** Begins something when it is asked for first. */
function once<T extends object>(begin: () => T): () => T {
  let begun: T | undefined;
  return () => {
    begun ??= begin();
    return begun;
  };
}
