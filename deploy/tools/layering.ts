import { posix } from "node:path";
import type { Problems, SourceFile } from "./problems.ts";

/** Which packages of ours each package may import in what it ships; tests may import @parley/testing besides. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  "packages/rpc": [],
  "packages/service-kit": ["rpc"],
  "packages/bot-rules": ["service-kit"],
  "packages/local-postgres": [],
  "packages/testing": ["local-postgres"],
  "packages/widget": [],
  "packages/demo-site": [],
  "packages/cli": ["rpc", "service-kit"],
  "services/edge": ["rpc", "service-kit", "widget"],
  "services/conversation": ["rpc", "service-kit", "bot-rules"],
  "services/quota": ["rpc", "service-kit"],
  "services/llm-proxy": ["rpc", "service-kit", "bot-rules"],
  deploy: ["rpc", "service-kit", "local-postgres", "cli", "demo-site", "widget"],
  tests: ["rpc", "service-kit", "testing", "local-postgres", "demo-site", "widget"],
  bench: ["rpc", "service-kit", "testing"],
};

/**
 * Files beyond their own package that some may reach: the bench measures the system of the tests, and runs the quota's own statements
 * without the service around them; browser tests speak the widget's words.
 */
const MAY_REACH: Readonly<Record<string, readonly string[]>> = {
  bench: ["tests/support/", "services/quota/src/store/"],
  tests: ["packages/widget/src/"],
};

/** Folders of a service from the inside out: a file may import its own ring and those within. */
const RINGS = ["domain", "store"];

const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*"([^"]+)"/g;

/** Imports that go against the direction `rpc ← service-kit ← services`, leave their package, or go up inside a service. */
export function layeringProblems(files: readonly SourceFile[]): Problems {
  return files.flatMap(({ path, text }) => {
    const home = packageOf(path);
    if (home === undefined) return [];
    const specifiers = [...text.matchAll(IMPORT)].map(([, specifier = ""]) => specifier);
    return specifiers.flatMap((specifier) => {
      const reason = specifier.startsWith(".")
        ? refuseRelative(path, home, specifier)
        : refusePackage(path, home, specifier);
      return reason === undefined ? [] : [`${path} imports ${specifier}: ${reason}`];
    });
  });
}

function packageOf(path: string): string | undefined {
  // They look after the whole repository, and reach into it.
  if (path.startsWith("deploy/tools/")) return undefined;
  const [top = "", name = ""] = path.split("/");
  const home = top === "packages" || top === "services" ? `${top}/${name}` : top;
  return home in MAY_IMPORT ? home : undefined;
}

function refusePackage(path: string, home: string, specifier: string): string | undefined {
  const [, name] = /^@parley\/([^/]+)/.exec(specifier) ?? [];
  if (name === undefined || MAY_IMPORT[home]?.includes(name)) return undefined;
  if (name === "testing" && isTest(path)) return undefined;
  return `${home} may import ${MAY_IMPORT[home]?.join(", ") || "no other package of ours"}`;
}

function refuseRelative(path: string, home: string, specifier: string): string | undefined {
  const target = posix.join(posix.dirname(path), specifier);
  if (!target.startsWith(`${home}/`)) {
    return MAY_REACH[home]?.some((reach) => target.startsWith(reach)) ? undefined : "it leaves its package";
  }
  const [from, to] = [ringOf(path, home), ringOf(target, home)];
  return from < to && !isTest(path) ? `${RINGS[from]} may not import what lies further out` : undefined;
}

/** 0 for domain, 1 for store, 2 for everything else. */
function ringOf(path: string, home: string): number {
  const ring = RINGS.findIndex((name) => path.startsWith(`${home}/src/${name}/`));
  return ring === -1 ? RINGS.length : ring;
}

function isTest(path: string): boolean {
  return /\.test\.ts$|\/test-[^/]*\.ts$|\/test(ing)?\//.test(path);
}
