import { describe, expect, it } from "vitest";
import { parseLogLine } from "./log-line.ts";

describe("parseLogLine", () => {
  it("reads the level, message and error reason of a JSON line", () => {
    const line = JSON.stringify({ level: "error", message: "settling failed", error: { message: "no such host" } });
    expect(parseLogLine(line)).toEqual({ level: "error", text: "settling failed: no such host" });
  });

  it("names the errors of a summary of repeated errors", () => {
    const events = { "call failed (llm-proxy)": 2, "call failed (quota)": 1 };
    const line = JSON.stringify({ level: "warn", cause: "unavailable", events, message: "errors repeated" });
    expect(parseLogLine(line)).toEqual({
      level: "warn",
      text: "errors repeated: call failed (llm-proxy); call failed (quota)",
    });
  });

  it("does not repeat an error reason that the message already contains", () => {
    const line = JSON.stringify({ level: "fatal", message: "cannot start: taken", error: { message: "taken" } });
    expect(parseLogLine(line)).toEqual({ level: "fatal", text: "cannot start: taken" });
  });

  it.each([undefined, ""])("returns the reason alone if the message is %j", (message) => {
    const line = JSON.stringify({ level: "error", message, error: { code: "ECONNREFUSED" } });
    expect(parseLogLine(line)).toEqual({ level: "error", text: "ECONNREFUSED" });
  });

  it.each([
    ["Error: it broke"],
    ["TypeError: x is not a function"],
    ["Error [ERR_MODULE_NOT_FOUND]: Cannot find package"],
    ["quota: DATABASE_URL is not set: the database"],
    ["llm-proxy: the file is not valid"],
  ])("returns the level fatal and the line itself for an uncaught error or a configuration error: %s", (line) => {
    expect(parseLogLine(line)).toEqual({ level: "fatal", text: line });
  });

  it.each([
    ["    at run (file:///app/run.ts:1:1)"],
    ["file:///app/run.ts:12"],
    ["Node.js v24.21.0"],
    ["}"],
    [""],
    ["^"],
  ])("skips a line without information: %s", (line) => {
    expect(parseLogLine(line)).toBeUndefined();
  });
});
