import { describe, expect, it } from "vitest";
import { urlAs } from "./database.ts";

describe("urlAs", () => {
  it.each([
    ["postgres://admin:a@db.example:5433/parley", "postgres://parley_quota:p%2Fw@db.example:5433/parley"],
    ["postgres://db.example/parley?sslmode=require", "postgres://parley_quota:p%2Fw@db.example/parley?sslmode=require"],
    ["postgres://db.example/parley?user=admin&password=a", "postgres://parley_quota:p%2Fw@db.example/parley"],
    ["postgresql:///parley?host=/run/postgresql", "postgresql://parley_quota:p%2Fw@/parley?host=%2Frun%2Fpostgresql"],
  ])("leads to the same database as another role: %s", (given, expected) => {
    expect(urlAs(given, "parley_quota", "p/w")).toBe(expected);
  });
});
