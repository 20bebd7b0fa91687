import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createLogger, type LogLevel } from "./logger.ts";

function logAndParse(fields: object): Record<string, unknown> {
  const lines: string[] = [];
  createLogger("test", "info", { write: (line) => void lines.push(line) }).info(fields, "event");
  return JSON.parse(lines.join("")) as Record<string, unknown>;
}

test("the log does not redact a number in a field whose name is in SECRET_FIELDS, such as phases_ms.token", () => {
  expect(logAndParse({ phases_ms: { open: 1.5, token: 20.25 } })).toMatchObject({
    phases_ms: { open: 1.5, token: 20.25 },
  });
});

test.each([["secret"], [{ value: "secret" }], [["secret"]], [true], [null]])(
  "the log redacts %j in a field whose name is in SECRET_FIELDS",
  (value) => {
    for (const name of [
      "authorization",
      "public_key",
      "publicKey",
      "message_text",
      "content",
      "token",
      "password",
      "url",
    ])
      expect(logAndParse({ [name]: value, request: { [name]: value } })).toMatchObject({
        [name]: "[redacted]",
        request: { [name]: "[redacted]" },
      });
  },
);

const readOnly = (message: string) =>
  Object.assign(new Error(message), { code: "25006", cause: new Error("without a code") });

describe("repeated errors", () => {
  function startLog(level: LogLevel = "info") {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const lines: Record<string, unknown>[] = [];
    const log = createLogger("test", level, { write: (line) => void lines.push(JSON.parse(line)) });
    return { log, lines };
  }

  test("log the first line of each event with its whole error, and then one line per cause and 10 s with the counts", () => {
    const { log, lines } = startLog();
    for (let second = 0; second < 40; second++) {
      log.warn({ task: "settler", error: readOnly("cannot execute UPDATE") }, "task failed, retrying");
      log.warn(
        { task: "sweeper", error: new Error("outer", { cause: readOnly("cannot execute INSERT") }) },
        "task failed, retrying",
      );
      log.child({ request: 1 }).error({ method: "OpenTurn", error: readOnly("cannot execute INSERT") }, "call failed");
      vi.advanceTimersByTime(1_000);
    }
    expect(lines.slice(0, 2)).toMatchObject([
      { level: "warn", message: "task failed, retrying", error: { code: "25006", stack: expect.any(String) } },
      { level: "error", message: "call failed", request: 1, error: { code: "25006" } },
    ]);
    expect(lines.slice(2)).toMatchObject(
      [28, 30, 30, 30].map((count) => ({
        level: "error",
        message: "errors repeated",
        cause: "25006",
        seconds: 10,
        count,
        events: { "task failed, retrying (settler)": expect.any(Number), "call failed (OpenTurn)": expect.any(Number) },
        latest: { message: "cannot execute INSERT" },
      })),
    );
  });

  test("are logged at once again after 10 s without this cause", () => {
    const { log, lines } = startLog();
    log.warn({ error: readOnly("first") }, "event");
    log.warn({ error: readOnly("second") }, "event");
    vi.advanceTimersByTime(20_000);
    log.warn({ error: readOnly("third") }, "event");
    vi.advanceTimersByTime(60_000);
    expect(lines.map(({ message }) => message)).toEqual(["event", "errors repeated", "event"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("are summarised at their own level", () => {
    const { log, lines } = startLog();
    for (const level of ["info", "warn", "error"] as const) {
      log[level]({ error: readOnly("first") }, "event");
      log[level]({ error: readOnly("second") }, "event");
      vi.advanceTimersByTime(20_000);
    }
    const summaries = lines.filter(({ message }) => message === "errors repeated");
    expect(summaries.map(({ level }) => level)).toEqual(["info", "warn", "error"]);
  });

  test("of another cause are not suppressed", () => {
    const { log, lines } = startLog();
    for (const error of [readOnly(""), Object.assign(new Error(), { code: 14 }), new TypeError(), "text", new Error()])
      log.warn({ error }, "event");
    log.info({ error: readOnly("") }, "another event");
    expect(lines).toHaveLength(6);
  });

  test("without an error are recognized by their reason, and lines with neither are never suppressed", () => {
    const { log, lines } = startLog();
    for (const turn_id of ["a", "b", "c"]) {
      log.warn({ turn_id, model: "m", code: "provider_error", reason: "http_503" }, "attempt failed");
      log.warn({ turn_id, kind: "missing" }, "usage difference repaired");
      log.info({ turn_id, code: "stop" }, "turn closed");
      log.error("plain text");
    }
    vi.advanceTimersByTime(10_000);
    const counts = Object.groupBy(lines, ({ message }) => String(message));
    expect(Object.entries(counts).map(([message, some]) => [message, some?.length])).toEqual([
      ["attempt failed", 1],
      ["usage difference repaired", 3],
      ["turn closed", 3],
      ["plain text", 3],
      ["errors repeated", 1],
    ]);
    expect(lines.at(-1)).toMatchObject({
      cause: "provider_error",
      count: 2,
      latest: { turn_id: "c", reason: "http_503" },
    });
  });

  test("are never suppressed at the level fatal, or in a log of the level debug", () => {
    const { log, lines } = startLog();
    for (let count = 0; count < 3; count++) log.fatal({ error: readOnly("") }, "cannot start");
    expect(lines).toHaveLength(3);
    const debug = startLog("debug");
    for (let count = 0; count < 3; count++) debug.log.warn({ error: readOnly("") }, "event");
    expect(debug.lines).toHaveLength(3);
  });

  test("of very many causes and events use a bounded number of entries", () => {
    const { log, lines } = startLog();
    for (let index = 0; index < 5_000; index++)
      log.warn({ error: Object.assign(new Error(), { code: `c${index}` }) }, "event");
    for (let index = 0; index < 1_000; index++) log.warn({ error: readOnly("") }, `event ${index}`);
    const written = lines.length;
    expect(written).toBeLessThan(150);
    vi.advanceTimersByTime(10_000);
    expect(lines.length - written).toBe(1);
    expect(Object.keys(lines.at(-1)?.events as object).length).toBeLessThanOrEqual(21);
    expect(lines.at(-1)).toMatchObject({ cause: "others", count: 5_000 + 1_000 - written });
  });
});
