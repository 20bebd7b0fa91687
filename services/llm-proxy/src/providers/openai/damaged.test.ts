import { expect, test } from "vitest";
import { damagedKey, isDamaged } from "./damaged.ts";

test.each(["contens", "xontent", "co\tent", "conte\t", "cont: t", "XXntent"])("%j is content, damaged", (key) => {
  expect(damagedKey({ role: "assistant", [key]: "x" }, "content")).toBe(key);
});

test.each(["content", "contents", "conten", "reasoning_content", "tent", ""])("%j is not", (word) => {
  expect(isDamaged(word, "content")).toBe(false);
});

test("where the field is, nothing else is taken for it", () => {
  expect(damagedKey({ content: "x", contens: "y" }, "content")).toBeUndefined();
});
