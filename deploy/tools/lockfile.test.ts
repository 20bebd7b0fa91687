import { expect, test } from "vitest";
import { lockfileProblems } from "./lockfile.ts";

test("a host and a package that was given up are found, each with its line", () => {
  expect(lockfileProblems("packages:\n  a@1.0.0:\n    engines: {node: '>=22'}")).toEqual([]);
  const lockfile = "  a@1.0.0:\n    resolution: {tarball: https://registry.example/a.tgz}\n    deprecated: use b\n";
  expect(lockfileProblems(lockfile)).toEqual([
    expect.stringMatching(/^pnpm-lock.yaml:2 names a host/),
    expect.stringMatching(/^pnpm-lock.yaml:3 .* gave up: deprecated: use b$/),
  ]);
});
