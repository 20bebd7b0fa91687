import { expect, test } from "vitest";
import { handlerCommentProblems } from "./handler-comments.ts";

const problems = (...lines: string[]) =>
  handlerCommentProblems(
    [{ path: "proto/a.proto", text: lines.join("\n") }],
    new Set(["services/a/src/get.rpc.ts", "b/c.ts"]),
  );

test("accepts an existing file in the comment of the RPC or of its service", () => {
  expect(problems("// Get reads.", "// Handled in services/a/src/get.rpc.ts.", "rpc Get(A) returns (B);")).toEqual([]);
  expect(problems("// Handled in b/c.ts.", "service S {", "  // Get reads.", "  rpc Get(A) returns (B);")).toEqual([]);
});

test("reports an RPC without a handler comment, even if an earlier service has one", () => {
  const message = 'Get has no comment "Handled in <file>."';
  expect(problems("service S {", "  // Get reads b/c.ts.", "  rpc Get(A) returns (B);")).toEqual([
    `proto/a.proto:3 ${message}`,
  ]);
  expect(problems("// Handled in b/c.ts.", "service S {}", "", "service T {", "rpc Get(A) returns (B);")).toEqual([
    `proto/a.proto:5 ${message}`,
  ]);
});

test("reports a missing file in a sentence that spans two comment lines, and ignores the next sentence", () => {
  expect(problems("// Handled in b/c.ts; List in", "// b/none.ts. Served on b/ops.ts.", "service S {")).toEqual([
    "proto/a.proto:3 S names a missing file: b/none.ts",
  ]);
});
