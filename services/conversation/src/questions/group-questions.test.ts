import { expect, test } from "vitest";
import { groupQuestions } from "./group-questions.ts";

const question = (lexemes: string[], at = "2026-11-01T00:00:00Z", fields = {}) => ({
  sessionId: `session of ${at}`,
  at,
  text: `${lexemes.join(" ")}?`,
  lexemes,
  isUngrounded: true,
  isDeclined: false,
  isRatedDown: false,
  ...fields,
});

test("questions with the same lexemes are one group, regardless of order, repetition and accents", () => {
  const groups = groupQuestions([
    question(["caf", "open"]),
    question(["open", "cáf"]),
    question(["open", "caf", "cáf"]),
    question(["open"]),
  ]);
  expect(groups.map(({ count }) => count)).toEqual([3, 1]);
});

test("a group has the latest question and its session, and counts the ungrounded, the declined and the rated-down replies", () => {
  const [group] = groupQuestions([
    question(["ship"], "2026-11-03T01:00:00Z", { text: "latest", isRatedDown: true }),
    question(["ship"], "2026-11-02T20:00:00Z", {
      text: "between",
      isUngrounded: false,
      isDeclined: true,
      isRatedDown: true,
    }),
    question(["ship"], "2026-11-01T00:00:00Z", { text: "first" }),
  ]);
  expect(group).toEqual({
    example: "latest",
    sessionId: "session of 2026-11-03T01:00:00Z",
    lastAt: "2026-11-03T01:00:00Z",
    lexemes: ["ship"],
    count: 3,
    ungrounded: 2,
    declined: 1,
    ratedDown: 2,
  });
});

test("the largest group comes first, and of equally large groups the one with the latest question", () => {
  const groups = groupQuestions([
    question(["new"], "2026-11-05T00:00:00Z"),
    question(["old"]),
    question(["frequent"]),
    question(["frequent"]),
  ]);
  expect(groups.map(({ example }) => example)).toEqual(["frequent?", "new?", "old?"]);
});

test("questions without lexemes are left out", () => {
  expect(groupQuestions([question([]), question([])])).toEqual([]);
});
