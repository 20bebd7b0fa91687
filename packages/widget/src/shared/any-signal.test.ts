import { afterEach, describe, expect, it } from "vitest";
import { anySignal } from "./any-signal.ts";

const native = Object.getOwnPropertyDescriptor(AbortSignal, "any");
afterEach(() => {
  if (native) Object.defineProperty(AbortSignal, "any", native);
});

describe.each([true, false])("anySignal in a browser that has AbortSignal.any: %s", (hasAny) => {
  const createSignal = (...signals: AbortSignal[]) => {
    if (!hasAny) Reflect.deleteProperty(AbortSignal, "any");
    return anySignal(...signals);
  };

  it("aborts with the reason of the first aborted signal", () => {
    const [one, other] = [new AbortController(), new AbortController()];
    const signal = createSignal(one.signal, other.signal);
    const reasons: unknown[] = [];
    signal.addEventListener("abort", () => reasons.push(signal.reason));
    expect(signal.aborted).toBe(false);
    other.abort("other");
    one.abort("one");
    expect(reasons).toEqual(["other"]);
  });

  it("is aborted at once if a signal already is", () => {
    expect(createSignal(new AbortController().signal, AbortSignal.abort("before")).reason).toBe("before");
  });
});
