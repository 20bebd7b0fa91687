import { describe, expect, it } from "vitest";
import { readLogLine } from "./log-line.ts";

describe("readLogLine", () => {
  it("reads a JSON line by its level and message, with the reason of its error", () => {
    const line = JSON.stringify({ level: "error", message: "settling failed", error: { message: "no such host" } });
    expect(readLogLine(line)).toEqual({ level: "error", text: "settling failed: no such host" });
  });

  it("says a reason once", () => {
    const line = JSON.stringify({ level: "fatal", message: "cannot start: taken", error: { message: "taken" } });
    expect(readLogLine(line)).toEqual({ level: "fatal", text: "cannot start: taken" });
  });

  it.each([
    ["Error: it broke"],
    ["TypeError: x is not a function"],
    ["Error [ERR_MODULE_NOT_FOUND]: Cannot find package"],
    ["quota: DATABASE_URL is not set: the database"],
    ["llm-proxy: the file is not valid"],
  ])("takes what an uncaught error or a refused configuration says: %s", (line) => {
    expect(readLogLine(line)).toEqual({ level: "fatal", text: line });
  });

  it.each([
    ["    at run (file:///app/run.ts:1:1)"],
    ["file:///app/run.ts:12"],
    ["Node.js v24.21.0"],
    ["}"],
    [""],
    ["^"],
  ])("passes over what tells a person nothing: %s", (line) => {
    expect(readLogLine(line)).toBeUndefined();
  });
});
