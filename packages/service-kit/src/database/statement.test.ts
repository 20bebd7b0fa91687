import { expect, test } from "vitest";
import { defineStatement } from "./statement.ts";

test("numbers the parameters in the order of their first use, and leaves casts and time formats unchanged", () => {
  const statement = defineStatement<{ id: string; at: string; unused: number }>(
    "find",
    "SELECT to_char(:at::timestamptz, 'HH24:MI:SS') FROM t WHERE id = :id AND at < :at",
  );
  expect(statement({ id: "a", at: "now", unused: 1 })).toEqual({
    name: "find",
    text: "SELECT to_char($1::timestamptz, 'HH24:MI:SS') FROM t WHERE id = $2 AND at < $1",
    values: ["now", "a"],
  });
});

test("throws if a parameter has no value, and accepts undefined as a value", () => {
  const statement = defineStatement<{ id?: string | undefined }>("find", "SELECT FROM t WHERE id = :id");
  expect(() => statement({})).toThrow("find: the parameter id has no value");
  expect(statement({ id: undefined }).values).toEqual([undefined]);
});
