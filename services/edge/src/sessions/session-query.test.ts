import { expect, test } from "vitest";
import { parseCsvExportQuery, parseExportQuery, parseListQuery, parseTime } from "./session-query.ts";

test("parseListQuery reads every parameter, and sets the defaults of absent ones", () => {
  expect(parseListQuery({})).toEqual({
    limit: 20,
    pageToken: "",
    botSlug: "",
    visitorId: "",
    source: "",
    rating: "",
    review: "",
    text: "",
  });
  const query = {
    limit: "100",
    cursor: "c",
    bot_slug: "b",
    source: "widget",
    since: "2026-11-01",
    until: "2026-11-02",
    visitor_id: "v",
    rating: "down",
    review: "bad",
    q: "refund",
  };
  expect(parseListQuery(query)).toEqual({
    limit: 100,
    pageToken: "c",
    botSlug: "b",
    visitorId: "v",
    source: "widget",
    rating: "down",
    review: "bad",
    text: "refund",
    sinceMicroseconds: 1_793_491_200_000_000n,
    untilMicroseconds: 1_793_577_600_000_000n,
  });
});

test.each([
  { limit: "0" },
  { limit: "101" },
  { limit: "-1" },
  { limit: "1.5" },
  { limit: "x" },
  { source: "email" },
  { rating: "sideways" },
  { review: "up" },
  { q: "x".repeat(201) },
  { q: "a\0" },
  { since: "yesterday" },
  { visitor: "v" },
  { visitor_id: ["a", "b"] },
  { limit: ["1", "2"] },
  { offset: "" },
])("parseListQuery refuses %j", (query) => {
  expect(() => parseListQuery(query)).toThrow("invalid_parameter");
});

test.each([{ limit: "1" }, { q: "x" }, { until: "x" }, { cursor: ["a", "b"] }])(
  "parseExportQuery refuses %j",
  (query) => {
    expect(() => parseExportQuery(query)).toThrow("invalid_parameter");
  },
);

test("parseExportQuery treats an empty parameter as absent", () => {
  const noFilters = { botSlug: "", visitorId: "", source: "", rating: "", review: "" };
  expect(parseExportQuery({ cursor: "", since: "", bot_slug: "" })).toEqual({ cursor: "", ...noFilters });
});

test.each([
  ["1970-01-01", 0n],
  // A time before 1970 is read as 0.
  ["1969-12-31T23:59:59Z", 0n],
  ["2026-11-21T02:32:49.562223+00:00", 1_795_228_369_562_223n],
  // In a query, an unencoded + means a space.
  ["2026-11-21T02:32:49.562223 00:00", 1_795_228_369_562_223n],
  ["2026-11-21T04:32:49.5+02:00", 1_795_228_369_500_000n],
  ["2026-11-20t21:32:49-05:00", 1_795_228_369_000_000n],
  ["2028-02-29T00:00:00Z", 1_835_395_200_000_000n],
])("parseTime reads %s as %s microseconds since 1970", (text, microseconds) => {
  expect(parseTime("since", text)).toBe(microseconds);
});

test.each([
  "2026-02-30",
  "2026-13-01",
  "2026-1-1",
  "2026-11-21T02:32",
  "2026-11-21T25:00:00Z",
  "2026-11-21T02:32:49",
  "1",
  "",
])("parseTime refuses %j", (text) => {
  expect(() => parseTime("since", text)).toThrow("invalid_parameter");
});

test.each([
  [{}, false],
  [{ bom: "" }, false],
  [{ bom: "0" }, false],
  [{ bom: "1" }, true],
  [{ bom: "1", cursor: "c" }, false],
])("parseCsvExportQuery of %j: the file begins with a byte order mark: %s", (query, hasMark) => {
  expect(parseCsvExportQuery(query)).toMatchObject({ hasMark });
});

test.each([{ bom: "yes" }, { bom: "true" }, { bom: ["1", "1"] }, { bom: "1", rating: "x" }])(
  "parseCsvExportQuery refuses %j",
  (query) => {
    expect(() => parseCsvExportQuery(query)).toThrow("invalid_parameter");
  },
);

test("parseExportQuery refuses the parameter of the CSV", () => {
  expect(() => parseExportQuery({ bom: "1" })).toThrow("invalid_parameter");
});
