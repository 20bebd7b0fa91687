import { describe, expect, it, test } from "vitest";
import { parseServers, requireSettings, urlOn } from "./settings.ts";

const SERVERS = "a=postgres://postgres:secret@a.example.com:5433\nb=postgres://postgres:secret@b.example.com";

describe("parseServers", () => {
  it("reads a server per word", () => {
    expect(parseServers(SERVERS)).toEqual([
      { name: "a", url: "postgres://postgres:secret@a.example.com:5433" },
      { name: "b", url: "postgres://postgres:secret@b.example.com" },
    ]);
  });

  it.each(["", "a", "a=http://postgres:secret@host", "a=postgres://user:secret@h a=postgres://user:secret@h"])(
    "refuses %j without printing a password",
    (text) => {
      expect(() => parseServers(text)).toThrow(/^(?!.*secret)/);
    },
  );
});

test("names the first missing variable", () => {
  const source = { name: "PARLEY_SHARD_SERVERS", parse: parseServers, text: SERVERS };
  const shards = { count: 4, rolePrefix: "parley_", roleSuffix: "_2", servers: source, routerAdminUrls: undefined };
  const databaseUrl = "postgres://parley_admin:secret@router:6432/parley";
  expect(() => requireSettings({ databaseUrl: undefined, shards })).toThrow("DATABASE_URL is not set");
  expect(() => requireSettings({ databaseUrl, shards: { ...shards, count: 1 } })).toThrow("DATABASE_SHARDS is not set");
  expect(() => requireSettings({ databaseUrl, shards: { ...shards, servers: undefined } })).toThrow(
    "PARLEY_SHARD_SERVERS is not set",
  );
  const settings = requireSettings({ databaseUrl, shards });
  expect(settings.roleOf("quota")).toBe("parley_quota_2");
  expect(settings).toMatchObject({
    database: "parley",
    shardCount: 4,
    administrator: { user: "parley_admin", password: "secret" },
  });
});

test("a database's URL keeps the server's parameters and encodes the login", () => {
  const server = { name: "a", url: "postgres://postgres:secret@a.example.com:5433/postgres?sslmode=require" };
  expect(urlOn(server, "parley_3")).toBe("postgres://postgres:secret@a.example.com:5433/parley_3?sslmode=require");
  expect(urlOn(server, "parley_3", { user: "admin", password: "p@ss/word" })).toBe(
    "postgres://admin:p%40ss%2Fword@a.example.com:5433/parley_3?sslmode=require",
  );
});
