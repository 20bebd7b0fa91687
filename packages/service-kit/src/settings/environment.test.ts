import { expect, test } from "vitest";
import { readPreparedStatements } from "../database/database.ts";
import { readRpcMultiplex } from "../grpc/rpc-peers.ts";
import { ConfigError, Environment } from "./environment.ts";

test("EGRESS_PROXY is a URL without a path, with both a user name and a password or neither", () => {
  const read = (value: string) => {
    const environment = new Environment({ EGRESS_PROXY: value });
    return environment.finish({ egress: environment.egress() }).egress.proxyUrl;
  };
  for (const valid of [
    "http://proxy.internal:3128",
    "https://proxy.internal/",
    "http://user:secret@proxy.internal:3128",
    "http://user:50%25@proxy.internal:3128",
  ])
    expect(read(valid)).toBe(valid);
  expect(read("")).toBeUndefined();
  for (const [invalid, problem] of [
    ["proxy.internal:3128", "EGRESS_PROXY must be a URL (http, https)"],
    ["socks5://proxy.internal:1080", "EGRESS_PROXY must be a URL (http, https)"],
    ["http://proxy.internal:3128/proxy.pac", "EGRESS_PROXY must have no path, query or fragment"],
    ["http://user@proxy.internal:3128", "EGRESS_PROXY needs both a user name and a password"],
    [
      "http://user:50%@proxy.internal:3128",
      "EGRESS_PROXY has a % in its user name or password that is not written as %25",
    ],
  ] as const)
    expect(() => read(invalid)).toThrow(problem);
});

test("an integer above 1,000,000,000 is refused", () => {
  const read = (value: string) => {
    const environment = new Environment({ DRAIN_MS: value });
    return environment.finish({ drainMs: environment.integer("DRAIN_MS", 25_000) }).drainMs;
  };
  expect(read("1000000000")).toBe(1_000_000_000);
  expect(() => read("3000000000")).toThrow("DRAIN_MS must be a whole number from 0 to 1000000000");
});

test.each([" ", "\t\n"])("white space (%j) is refused as a number, and the error names the variable", (value) => {
  const environment = new Environment({ DRAIN_MS: value, TRACE_RATIO: value });
  environment.integer("DRAIN_MS", 25_000);
  environment.ratio("TRACE_RATIO", 1);
  expect(() => environment.finish({})).toThrow(
    `DRAIN_MS must be a whole number from 0 to 1000000000, not "${value}"; TRACE_RATIO must be a number from 0 to 1, not "${value}"`,
  );
});

test.each([
  ["RPC_MULTIPLEX", readRpcMultiplex],
  ["DATABASE_PREPARED_STATEMENTS", readPreparedStatements],
])("%s is on or off, by default on", (name, readSwitch) => {
  const read = (values: Record<string, string>) => {
    const environment = new Environment(values);
    return environment.finish({ isOn: readSwitch(environment) }).isOn;
  };
  expect(read({})).toBe(true);
  expect(read({ [name]: "on" })).toBe(true);
  expect(read({ [name]: "off" })).toBe(false);
  expect(() => read({ [name]: "no" })).toThrow(ConfigError);
});
