import { describeWith, isFullRun } from "@parley/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readBalance } from "../system/database.ts";
import { type EdgeFixture, startEdgeFixture } from "./edge-fixture.ts";
import { behindNginxSuite } from "./suites/behind-nginx.ts";
import { capsSuite } from "./suites/caps.ts";
import { disconnectsSuite } from "./suites/disconnects.ts";
import { drainSuite } from "./suites/drain.ts";
import { floodsSuite } from "./suites/floods.ts";
import { frozenPeersSuite, runFrozenPeer } from "./suites/frozen-peers.ts";
import { inputSuite } from "./suites/input.ts";
import { lateDisconnectsSuite } from "./suites/late-disconnects.ts";
import { limitsSuite } from "./suites/limits.ts";
import { logsSuite } from "./suites/logs.ts";
import { longStreamsSuite, runLongStreams } from "./suites/long-streams.ts";
import { networkFaultsSuite } from "./suites/network-faults.ts";
import { protocolSuite } from "./suites/protocol.ts";
import { providerFaultsSuite } from "./suites/provider-faults.ts";
import { runSlowReaders, slowReadersSuite } from "./suites/slow-readers.ts";

// All suites share one system. Suites that could disturb each other have their own tenants, client addresses or edges. Except in the full run,
// the slow scenarios start first, on their own edges and replicas, and later suites check their results.
describe("the edge", () => {
  let fixture: EdgeFixture;
  const frozenPeers = {
    conversation: startOnce(() => runFrozenPeer(fixture.system, "conversation")),
    quota: startOnce(() => runFrozenPeer(fixture.system, "quota")),
    "llm-proxy": startOnce(() => runFrozenPeer(fixture.system, "llm-proxy")),
  };
  const slowReaders = startOnce(() => runSlowReaders(fixture.system));
  const longStreams = startOnce(() => runLongStreams(fixture.system));
  let frozenPeersEnded: Promise<unknown> | undefined;

  beforeAll(async () => {
    fixture = await startEdgeFixture();
    // In the full run each scenario starts when its own test does, so that they do not share the CPU.
    if (isFullRun) return;
    frozenPeersEnded = Promise.allSettled(Object.values(frozenPeers).map((start) => start()));
    void slowReaders();
    void longStreams();
  });
  afterAll(async () => {
    // Waits until every frozen peer is resumed: a process that SIGSTOP has stopped does not handle SIGTERM.
    await frozenPeersEnded;
    await fixture.stop();
  });

  const getFixture = () => fixture;
  describe("malformed requests", () => protocolSuite(getFixture));
  describe("provider failures", () => providerFaultsSuite(getFixture));
  describe("network faults between services", () => networkFaultsSuite(getFixture));
  describe("drain", () => drainSuite(getFixture));
  describe("disconnects before done", () => lateDisconnectsSuite(getFixture));
  describe("stream caps", () => capsSuite(getFixture));
  describeWith("nginx", "behind nginx", () => behindNginxSuite(getFixture));
  describe("frozen peers", () => frozenPeersSuite(frozenPeers));
  describe("slow readers", () => slowReadersSuite(slowReaders));
  describe("long streams", () => longStreamsSuite(longStreams));
  // The suites below measure times, so they run after the slow scenarios have ended.
  describe("visitor disconnects", () => disconnectsSuite(getFixture));
  describeWith("redis-server", "rate limits on one Redis", () => limitsSuite(getFixture));
  describe("generated input", () => inputSuite(getFixture));
  describe("floods", () => floodsSuite(getFixture));

  test("no hold is left after the suites, and usage matches the turns", async () => {
    await expect
      .poll(() => readBalance(fixture.system.database), { timeout: 50_000, interval: 500 })
      .toMatchObject({ held: 0, streaming: 0, outbox: 0, unbalanced: 0 });
  });

  describe("the logs", () => logsSuite(getFixture));
});

/** Runs `start` on the first call and returns the same promise on every call. */
function startOnce<T>(start: () => Promise<T>): () => Promise<T> {
  let started: Promise<T> | undefined;
  return () => {
    if (started === undefined) {
      started = start();
      // Without this, a failure before a test awaits the promise would be an unhandled rejection.
      started.catch(() => undefined);
    }
    return started;
  };
}
