import { ConfigError, Environment, readSecret } from "@parley/service-kit";
import { expect, test } from "vitest";
import { readRedis } from "./redis-settings.ts";

function read(values: Record<string, string>) {
  const environment = new Environment(values);
  const redis = environment.finish({ config: readRedis(environment) }).config;
  if (redis === undefined) return undefined;
  const { urls, sentinelPassword, ...topology } = redis;
  return {
    ...topology,
    urls: readSecret(urls),
    sentinelPassword: sentinelPassword && readSecret(sentinelPassword),
  };
}

test("readRedis returns undefined without REDIS_URL", () => {
  expect(read({ REDIS_MODE: "cluster" })).toBeUndefined();
});

test("a single URL is one server, and its password may contain a comma", () => {
  const url = "redis://:a,b@redis:6379/1";
  expect(read({ REDIS_URL: url })).toMatchObject({ mode: "standalone", urls: [url] });
});

test("several URLs are sentinels or nodes of a cluster", () => {
  const [first, second] = ["rediss://:p,w@a:1", "rediss://b:2"];
  const urls = { REDIS_URL: `${first}, ${second}` };
  expect(read({ ...urls, REDIS_MODE: "cluster" })).toMatchObject({ mode: "cluster", urls: [first, second] });
  const sentinel = { ...urls, REDIS_MODE: "sentinel", REDIS_SENTINEL_MASTER: "main", REDIS_SENTINEL_PASSWORD: "s" };
  expect(read(sentinel)).toEqual({
    mode: "sentinel",
    urls: [first, second],
    sentinelMaster: "main",
    sentinelPassword: "s",
  });
});

test.each([
  ["another scheme", { REDIS_URL: "http://secret-host" }],
  ["a value that is not a URL", { REDIS_URL: "secret-host" }],
  ["a password with a % that is not encoded", { REDIS_URL: "redis://:50%@secret-host" }],
  ["two schemes", { REDIS_URL: "redis://secret-host,rediss://b", REDIS_MODE: "cluster" }],
  ["several URLs for one server", { REDIS_URL: "redis://secret-host,redis://b" }],
  ["sentinels without the master's name", { REDIS_URL: "redis://secret-host", REDIS_MODE: "sentinel" }],
  ["an unknown mode", { REDIS_URL: "redis://secret-host", REDIS_MODE: "ring" }],
])("readRedis refuses %s with an error that does not contain the URL", (_, values) => {
  expect(() => read(values)).toThrow(ConfigError);
  expect(() => read(values)).not.toThrow(/secret-host/);
});
