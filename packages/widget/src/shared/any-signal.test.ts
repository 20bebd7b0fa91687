import { expect, it } from "vitest";
import { anySignal } from "./any-signal.ts";

it("aborts with the reason of the first aborted signal", () => {
  const [one, other] = [new AbortController(), new AbortController()];
  const signal = anySignal(one.signal, other.signal);
  expect(signal.aborted).toBe(false);
  other.abort("other");
  one.abort("one");
  expect(signal.reason).toBe("other");
});

it("is aborted at once if a signal already is", () => {
  expect(anySignal(new AbortController().signal, AbortSignal.abort("before")).reason).toBe("before");
});
