import { expect, test } from "vitest";
import { ConfigError, Environment } from "./environment.ts";
import { readRpcMultiplex } from "./rpc-peers.ts";

test("RPC_MULTIPLEX is on or off, and on unless set", () => {
  const read = (values: Record<string, string>) => {
    const environment = new Environment(values);
    return environment.finish({ isMultiplexed: readRpcMultiplex(environment) }).isMultiplexed;
  };
  expect(read({})).toBe(true);
  expect(read({ RPC_MULTIPLEX: "on" })).toBe(true);
  expect(read({ RPC_MULTIPLEX: "off" })).toBe(false);
  expect(() => read({ RPC_MULTIPLEX: "no" })).toThrow(ConfigError);
});
