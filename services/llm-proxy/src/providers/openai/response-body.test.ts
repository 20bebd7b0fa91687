import { expect, test, vi } from "vitest";
import { readText } from "./response-body.ts";

const encoder = new TextEncoder();

test("a body within the limit is read completely", async () => {
  expect(await readText(new Response("0123456789").body, 100)).toBe("0123456789");
  expect(await readText(null, 100)).toBe("");
});

test("a longer body is cut at the limit and cancelled", async () => {
  const cancel = vi.fn();
  const body = new ReadableStream({ pull: (controller) => controller.enqueue(encoder.encode("0123456789")), cancel });
  expect(await readText(body, 14)).toBe("01234567890123");
  expect(cancel).toHaveBeenCalledOnce();
});
