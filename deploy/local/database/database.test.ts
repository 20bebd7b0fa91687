import { describe, expect, it } from "vitest";
import { urlForRole } from "./database.ts";

describe("urlForRole", () => {
  it.each([
    ["postgres://admin:a@db.example:5433/parley", "postgres://parley_quota:p%2Fw@db.example:5433/parley"],
    ["postgres://db.example/parley?sslmode=require", "postgres://parley_quota:p%2Fw@db.example/parley?sslmode=require"],
    ["postgres://db.example/parley?user=admin&password=a", "postgres://parley_quota:p%2Fw@db.example/parley"],
    ["postgresql:///parley?host=/run/postgresql", "postgresql://parley_quota:p%2Fw@/parley?host=%2Frun%2Fpostgresql"],
  ])("sets the user and password: %s", (url, expected) => {
    expect(urlForRole(url, "parley_quota", "p/w")).toBe(expected);
  });
});
