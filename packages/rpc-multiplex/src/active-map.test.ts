import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ActiveMap } from "./active-map.ts";

test("behaves like a Map", () => {
  const key = fc.nat(9);
  const step = fc.record({ key, value: fc.option(fc.record({ n: fc.nat() }), { nil: undefined }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const active = new ActiveMap<number, object>();
      const model = new Map<number, object>();
      for (const { key, value } of steps) {
        if (value === undefined) expect(active.delete(key)).toBe(model.delete(key));
        else for (const map of [active, model]) map.set(key, value);
        expect(active.size).toBe(model.size);
        expect(active.get(key)).toBe(model.get(key));
        expect([...active]).toEqual([...model]);
      }
    }),
  );
});

test("a value that is deleted during iteration is not visited", () => {
  const active = new ActiveMap<string, object>();
  for (const key of ["a", "b", "c"]) active.set(key, {});
  const visited: string[] = [];
  for (const [key] of active) {
    visited.push(key);
    for (const each of ["a", "b"]) active.delete(each);
  }
  expect(visited).toEqual(["a", "c"]);
});

// Retried, because V8 sometimes counts a page of 256 KB that holds other data.
test("minor garbage collections free removed values, which a plain Map keeps", { retry: 5 }, () => {
  const script = fileURLToPath(new URL("./testing/churn.ts", import.meta.url));
  const keptKilobytes = (kind: string) => {
    const flags = ["--experimental-strip-types", "--disable-warning=ExperimentalWarning", "--expose-gc"];
    return Number(execFileSync(process.execPath, [...flags, script, kind], { encoding: "utf8" }));
  };
  expect(keptKilobytes("active-map")).toBeLessThan(100);
  // If this fails, V8 no longer needs ActiveMap: use a Map.
  expect(keptKilobytes("map")).toBeGreaterThan(1_000);
});
