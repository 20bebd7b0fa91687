import { expect, test } from "vitest";
import { queryParser } from "../testing/parse-input.ts";
import { CsvExportQuery, ExportQuery, ListQuery, toExport, toList } from "./session-query.ts";

const parseList = queryParser(ListQuery);
const parseExport = queryParser(ExportQuery);
const parseCsvExport = queryParser(CsvExportQuery);

test("a list reads every parameter, and sets the defaults of absent ones", async () => {
  expect(toList(await parseList({}))).toEqual({
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
  expect(toList(await parseList(query))).toEqual({
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
])("a list refuses %j", async (query) => {
  await expect(parseList(query as Record<string, string | string[]>)).rejects.toThrow("invalid_parameter");
});

test.each([{ limit: "1" }, { q: "x" }, { until: "x" }, { cursor: ["a", "b"] }])(
  "an export refuses %j",
  async (query) => {
    await expect(parseExport(query as Record<string, string | string[]>)).rejects.toThrow("invalid_parameter");
  },
);

test("an export treats an empty parameter as absent", async () => {
  const noFilters = { botSlug: "", visitorId: "", source: "", rating: "", review: "" };
  const query = await parseExport({ cursor: "", since: "", bot_slug: "" });
  expect(toExport(query)).toEqual({ cursor: "", hasMark: false, ...noFilters });
});

test.each([
  [{}, false],
  [{ bom: "" }, false],
  [{ bom: "0" }, false],
  [{ bom: "1" }, true],
  [{ bom: "1", cursor: "c" }, false],
])("a CSV of %j: the file begins with a byte order mark: %s", async (query, hasMark) => {
  expect(toExport(await parseCsvExport(query as Record<string, string>))).toMatchObject({ hasMark });
});

test.each([{ bom: "yes" }, { bom: "true" }, { bom: ["1", "1"] }, { bom: "1", rating: "x" }])(
  "a CSV refuses %j",
  async (query) => {
    await expect(parseCsvExport(query as Record<string, string | string[]>)).rejects.toThrow("invalid_parameter");
  },
);

test("an export as NDJSON refuses the parameter of the CSV", async () => {
  await expect(parseExport({ bom: "1" })).rejects.toThrow("invalid_parameter");
});
