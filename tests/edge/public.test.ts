import { describeWith } from "@parley/testing";
import { afterAll, beforeAll, describe } from "vitest";
import { type RedisStage, startRedisStage } from "./redis-stage.ts";
import { behindNginxSuite } from "./suites/behind-nginx.ts";
import { capsSuite } from "./suites/caps.ts";
import { inputSuite } from "./suites/input.ts";
import { leavingSuite } from "./suites/leaving.ts";
import { limitsSuite } from "./suites/limits.ts";
import { logsSuite } from "./suites/logs.ts";
import { protocolSuite } from "./suites/protocol.ts";
import { providerFaultsSuite } from "./suites/provider-faults.ts";

// One system for all that strangers can do to it; each suite has tenants and client addresses of its own.
describeWith("redis-server", "three edges on one Redis", () => {
  let stage: RedisStage;
  beforeAll(async () => {
    stage = await startRedisStage();
  });
  afterAll(() => stage.stop());

  const shared = () => stage;
  describe("rate limits", () => limitsSuite(shared));
  describe("caps", () => capsSuite(shared));
  describe("visitors who leave", () => leavingSuite(shared));
  describe("a provider that fails", () => providerFaultsSuite(shared));
  describe("what is no request", () => protocolSuite(shared));
  describe("any input", () => inputSuite(shared));
  describeWith("nginx", "behind nginx", () => behindNginxSuite(shared));
  describe("the logs", () => logsSuite(shared));
});
