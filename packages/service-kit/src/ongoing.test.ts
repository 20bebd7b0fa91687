import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Ongoing } from "./ongoing.ts";

test("holds what was added and not removed, whichever came and went in between", () => {
  const steps = fc.array(fc.oneof(fc.constant("add" as const), fc.nat(20)), { maxLength: 200 });
  fc.assert(
    fc.property(steps, (taken) => {
      const ongoing = new Ongoing<number>();
      const there = new Set<number>();
      const removals: (() => void)[] = [];
      for (const step of taken) {
        if (step === "add") {
          there.add(removals.length);
          removals.push(ongoing.add(removals.length));
        } else if (removals.length > 0) {
          // Again and again for some, which is to change nothing.
          removals[step % removals.length]?.();
          there.delete(step % removals.length);
        }
        expect(ongoing.size).toBe(there.size);
      }
      expect([...ongoing].sort((a, b) => a - b)).toEqual([...there]);
    }),
  );
});

test("what is removed while it is gone through neither ends nor repeats it", () => {
  const ongoing = new Ongoing<string>();
  const removals = ["a", "b", "c"].map((each) => ongoing.add(each));
  const seen: string[] = [];
  for (const each of ongoing) {
    seen.push(each);
    for (const remove of removals) remove();
  }
  expect(seen).toEqual(["a", "b", "c"]);
  expect(ongoing.size).toBe(0);
});

test("what was under way is garbage that a collection of the young takes, also long after the first has grown old", () => {
  const script = fileURLToPath(new URL("./testing/churn.ts", import.meta.url));
  const run = (kind: string) => {
    const flags = ["--experimental-strip-types", "--disable-warning=ExperimentalWarning", "--expose-gc"];
    return Number(execFileSync(process.execPath, [...flags, script, kind], { encoding: "utf8" }));
  };
  const [ours, set] = [run("ongoing"), run("set")];
  // That a Set keeps it is why there is this class: when it does not any more, a Set will do.
  expect(set).toBeGreaterThan(1_000);
  expect(ours).toBeLessThan(100);
});
