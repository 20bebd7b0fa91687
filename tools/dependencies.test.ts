import { describe, expect, it } from "vitest";
import { dependencyProblems, lockfileProblems } from "./dependencies.ts";

const manifest = (path: string, content: object) => ({ path, text: JSON.stringify(content) });

describe("dependencyProblems", () => {
  const document = "# Dependencies\n\n- `pg`: the database's driver.\n- `linux`, `mac`: its binaries.\n";

  it("reports nothing if every production dependency has a reason", () => {
    const manifests = [
      manifest("a/package.json", {
        dependencies: { pg: "1", "@parley/rpc": "workspace:*" },
        devDependencies: { v: "1" },
      }),
      manifest("b/package.json", { optionalDependencies: { linux: "1", mac: "1" } }),
    ];
    expect(dependencyProblems(manifests, document)).toEqual([]);
  });

  it("reports a dependency without a reason and a reason without a dependency", () => {
    const manifests = [manifest("a/package.json", { dependencies: { pg: "1", knex: "1" } })];
    expect(dependencyProblems(manifests, document)).toEqual([
      "a/package.json: docs/dependencies.md has no reason for knex",
      "docs/dependencies.md explains linux, which is no production dependency",
      "docs/dependencies.md explains mac, which is no production dependency",
    ]);
  });

  it("rejects an empty reason", () => {
    const manifests = [manifest("a/package.json", { dependencies: { pg: "1" } })];
    expect(dependencyProblems(manifests, "- `pg`:\n")).toHaveLength(1);
  });
});

describe("lockfileProblems", () => {
  it("reports a tarball URL and ignores URLs in deprecation messages", () => {
    const lockfile = [
      "  a@1.0.0:",
      "    resolution: {integrity: sha512-x, tarball: https://host.example/a.tgz}",
      "    deprecated: see https://host.example/why",
    ].join("\n");
    expect(lockfileProblems(lockfile)).toEqual([expect.stringContaining("pnpm-lock.yaml:2 ")]);
  });
});
