import { expect, test } from "vitest";
import { fenceCode } from "./blocks/block.ts";
import { toChunks } from "./blocks/chunking.ts";
import { indexChunks } from "./index-document.ts";

function indexTexts(...texts: string[]) {
  const pieces = [...indexChunks(toChunks(texts.map((text) => ({ headings: [], text }))))];
  return pieces.flatMap((piece) => ("chunks" in piece ? piece.chunks.map(({ search }) => search) : []));
}

test("prose before and after a long code block is indexed as text, and all of the code as code", () => {
  const code = fenceCode("call(value);\n".repeat(400).trim());
  const chunks = indexTexts("Before.", code, "Refunds take days.");
  expect(chunks.map(({ text }) => text).filter((text) => text !== "")).toEqual(["before", "refunds take days"]);
  expect(chunks.flatMap((chunk) => chunk.code.match(/\w+/g) ?? [])).toEqual(Array(400).fill(["call", "value"]).flat());
});

test("prose after a line of three backticks that no later line closes is indexed as text", () => {
  expect(indexTexts("```", "Refunds take days.")).toMatchObject([{ text: "refunds take days", code: "" }]);
});

test("all of a code block that contains code blocks is indexed as code", () => {
  const code = fenceCode("```sh\nnpm install\n```\n# Start\n```sh\nnpm start\n```");
  expect(indexTexts(code, "Refunds take days.")).toMatchObject([
    { text: "refunds take days", code: "sh npm install start sh npm start" },
  ]);
});
