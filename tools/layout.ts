import { type Import, importsOf, targetOf } from "./imports.ts";
import type { Problems, SourceFile } from "./problems.ts";

/** The Parley packages that each package may import. Tests may also import @parley/test-support. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  "packages/rpc": [],
  "packages/rpc-multiplex": ["rpc"],
  "packages/service-kit": ["rpc", "rpc-multiplex"],
  "packages/bot-rules": ["service-kit"],
  "packages/widget": [],
  "packages/cli": ["rpc", "service-kit"],
  "services/edge": ["rpc", "service-kit", "widget"],
  "services/conversation": ["rpc", "service-kit", "bot-rules"],
  "services/quota": ["rpc", "service-kit"],
  "services/llm-proxy": ["rpc", "service-kit", "bot-rules"],
  "services/console": ["rpc", "service-kit", "widget"],
  "deploy/local/postgres": [],
  "deploy/local/sample-shop": [],
  "deploy/development-sso": ["service-kit"],
  deploy: ["rpc", "service-kit", "local-postgres", "cli", "sample-shop", "widget", "console"],
  "tests/support": ["local-postgres"],
  tests: ["rpc", "service-kit", "test-support", "local-postgres", "cli", "sample-shop", "widget", "console"],
  bench: ["rpc", "service-kit", "test-support"],
};

/**
 * Folders outside a package, from which its files may import with relative paths:
 * - The benchmarks start the tests' system, run SQL statements of quota and conversation without calling these services, and use the
 *   documents of conversation's tests and the built-in model's texts.
 * - The browser tests use the widget's texts, the cluster tests use the chart's tools, and vitest's configurations use its reporter.
 */
const MAY_REACH: Readonly<Record<string, readonly string[]>> = {
  bench: [
    "tests/system/",
    "services/quota/src/usage/",
    "services/conversation/src/sweeping/",
    "services/conversation/src/testing/",
    "services/llm-proxy/src/providers/builtin/",
  ],
  tests: ["packages/widget/src/", "tools/chart/", "tools/test-results.ts"],
};

/** The roles of a service's files by suffix, and the roles that each must not import. A file without a suffix is "plain". */
const MUST_NOT_IMPORT: Readonly<Record<string, readonly string[]>> = {
  route: ["rpc", "admin", "worker", "store"],
  plugin: ["route", "rpc", "admin", "worker", "store"],
  rpc: ["route", "plugin", "rpc", "admin"],
  admin: ["route", "plugin"],
  worker: ["route", "plugin", "rpc", "admin"],
  service: ["route", "plugin", "rpc", "admin", "worker"],
  client: ["route", "plugin", "rpc", "admin", "worker", "service", "store"],
  store: ["route", "plugin", "rpc", "admin", "worker", "service", "client"],
  plain: ["route", "plugin", "rpc", "admin", "worker", "service", "client", "store"],
};

/** Files without rules for roles and features: a service's wiring, metrics, tests, fixtures, and the code of worker threads and child processes. */
const EXEMPT =
  /(?:^|\/)(?:main|server|app|admin-services|rpc-handlers|shard-workers|periodic-tasks|config|migrate|preflight)\.ts$|(?:^|[./])metrics\.ts$|\.(?:thread|child)\.ts$|\.test\.ts$|\/testing\//;

/** Packages and Node modules that do I/O. A plain file may import only their types and PURE_NAMES. */
const DOES_IO =
  /^(?:pg|knex|ioredis|undici|openai|@grpc\/|node:(?:fs|http|http2|https|net|tls|dns|child_process|worker_threads))/;
/** Exports that do no I/O although their module matches DOES_IO. */
const PURE_NAMES = new Set(["isIP", "isIPv4", "isIPv6", "BlockList", "STATUS_CODES"]);

/**
 * Reports the imports that break the rules of CONTRIBUTING.md for packages, features and roles. Each `refuse…` function below returns the
 * reason for refusing an import, or undefined.
 */
export function layoutProblems(files: readonly SourceFile[]): Problems {
  const byPath = new Map(files.map((file) => [file.path, file]));
  return files.flatMap(({ path, text }) => {
    const packageDir = packageOf(path);
    if (packageDir === undefined) return mustBeListed(path) ? [`${path}: add its package to MAY_IMPORT`] : [];
    const role = roleOf(path);
    if (role !== undefined && !(role in MUST_NOT_IMPORT)) return [`${path}: no role has the suffix .${role}.ts`];
    return importsOf(text).flatMap((each) => {
      const { specifier } = each;
      const reason = specifier.startsWith(".")
        ? (refuseRelative(path, packageDir, specifier) ??
          refuseFeature(path, specifier) ??
          refuseRole(path, each, byPath))
        : (refusePackage(path, packageDir, specifier) ?? refuseIo(path, each));
      return reason === undefined ? [] : [`${path} imports ${specifier}: ${reason}`];
    });
  });
}

/**
 * Returns the folder of a file's innermost package in MAY_IMPORT. Returns undefined if the file is in none of these packages, as in tools/,
 * which may import anything.
 */
function packageOf(path: string): string | undefined {
  const packageDirs = Object.keys(MAY_IMPORT).filter((dir) => path.startsWith(`${dir}/`));
  return packageDirs.sort((a, b) => b.length - a.length)[0];
}

function mustBeListed(path: string): boolean {
  return /^(packages|services)\//.test(path);
}

function refusePackage(path: string, packageDir: string, specifier: string): string | undefined {
  const [, name] = /^@parley\/([^/]+)/.exec(specifier) ?? [];
  if (name === undefined || MAY_IMPORT[packageDir]?.includes(name)) return undefined;
  if (name === "test-support" && isTest(path)) return undefined;
  return `${packageDir} may import ${MAY_IMPORT[packageDir]?.join(", ") || "no Parley package"}`;
}

function refuseRelative(path: string, packageDir: string, specifier: string): string | undefined {
  const target = targetOf(path, specifier);
  if (packageOf(target) === packageDir) return undefined;
  return MAY_REACH[packageDir]?.some((folder) => target.startsWith(folder))
    ? undefined
    : "the target is in another package";
}

/** Refuses imports from another feature (a folder of a service) except through its index.ts. */
function refuseFeature(path: string, specifier: string): string | undefined {
  if (!path.startsWith("services/") || EXEMPT.test(path)) return undefined;
  const target = targetOf(path, specifier);
  const [from, to] = [featureOf(path), featureOf(target)];
  if (to === undefined || from === to || target === `${to}/index.ts`) return undefined;
  return `import another feature through ${to}/index.ts`;
}

function featureOf(path: string): string | undefined {
  return /^services\/[^/]+\/src\/[^/]+(?=\/)/.exec(path)?.[0];
}

/** Refuses imports of values from forbidden roles. For an import from an index.ts, the role is that of the file that declares the value. */
function refuseRole(path: string, { specifier, isTypeOnly, names }: Import, files: ReadonlyMap<string, SourceFile>) {
  const role = roleOf(path);
  const forbiddenRoles = role === undefined ? undefined : MUST_NOT_IMPORT[role];
  if (forbiddenRoles === undefined || isTypeOnly) return undefined;
  const target = targetOf(path, specifier);
  const sources = target.endsWith("/index.ts") ? exportersOf(files.get(target), names) : [target];
  const forbidden = sources.map(roleOf).find((each) => each !== undefined && forbiddenRoles.includes(each));
  return forbidden && `a ${role} file must not import a ${forbidden} file`;
}

/** Returns the files from which an index.ts re-exports these values. */
function exportersOf(index: SourceFile | undefined, names: readonly string[]): string[] {
  if (index === undefined) return [];
  return importsOf(index.text)
    .filter((each) => !each.isTypeOnly && each.names.some((name) => names.includes(name)))
    .map(({ specifier }) => targetOf(index.path, specifier));
}

/** Refuses a plain file's import of a module that does I/O, unless all imported names are in PURE_NAMES. */
function refuseIo(path: string, { specifier, isTypeOnly, names }: Import): string | undefined {
  if (roleOf(path) !== "plain" || isTypeOnly || !DOES_IO.test(specifier)) return undefined;
  if (names.length > 0 && names.every((name) => PURE_NAMES.has(name))) return undefined;
  return "a plain file does no I/O: give it the suffix of its role";
}

/** Returns a file's role; undefined outside the services, for exempt files and for an index.ts. */
function roleOf(path: string): string | undefined {
  if (!/^services\/[^/]+\/src\//.test(path) || EXEMPT.test(path) || path.endsWith("/index.ts")) return undefined;
  return /\.(\w+)\.ts$/.exec(path)?.[1] ?? "plain";
}

function isTest(path: string): boolean {
  return /\.test\.tsx?$|\/testing\//.test(path);
}
