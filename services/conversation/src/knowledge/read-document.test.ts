import { expect, test } from "vitest";
import { documentReader } from "./read-document.ts";

test("documents are read beside the event loop, in the order they came", async () => {
  const read = documentReader();
  const large = read("md", "# H\n\nA sentence of *some* length.\n\n".repeat(20_000));
  let turns = 0;
  const counter = setInterval(() => turns++, 1);
  const small = await read("txt", "small");
  clearInterval(counter);
  expect(small).toEqual([{ heading: "", text: "small" }]);
  expect((await large).length).toBeGreaterThan(500);
  expect(turns).toBeGreaterThan(20);
});

test("a document made to be slow or too deep is refused in time, and holds up no other", async () => {
  const read = documentReader(1_000);
  const refused = [read("md", "_a__b".repeat(100_000)), read("md", `${"> ".repeat(50_000)}x`)];
  for (const each of refused) await expect(each).rejects.toThrow("cannot be read");
  expect(await read("md", "*fine*")).toEqual([{ heading: "", text: "fine" }]);
});
