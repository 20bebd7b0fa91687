import type { Problems, SourceFile } from "./problems.ts";

const DOCUMENT = "docs/dependencies.md";

type Manifest = { dependencies?: Record<string, string>; optionalDependencies?: Record<string, string> };

/**
 * Reports production dependencies without a line ``- `name`: reason`` in the document, and packages that have such a line but are no production
 * dependency. A line may name several packages.
 */
export function dependencyProblems(manifests: readonly SourceFile[], document: string): Problems {
  const manifestByDependency = new Map<string, string>();
  for (const { path, text } of manifests) {
    const { dependencies, optionalDependencies } = JSON.parse(text) as Manifest;
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      if (!name.startsWith("@parley/")) manifestByDependency.set(name, path);
    }
  }
  const explained = new Set(
    [...document.matchAll(/^- ((?:`[^`]+`(?:, )?)+): \S/gm)].flatMap(([, names = ""]) =>
      [...names.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name),
    ),
  );
  return [
    ...[...manifestByDependency].flatMap(([name, path]) =>
      explained.has(name) ? [] : [`${path}: ${DOCUMENT} has no reason for ${name}`],
    ),
    ...[...explained].flatMap((name) =>
      manifestByDependency.has(name) ? [] : [`${DOCUMENT} explains ${name}, which is no production dependency`],
    ),
  ];
}

/** Reports registry and tarball URLs, because they depend on the machine's npm configuration. */
export function lockfileProblems(lockfile: string): Problems {
  return lockfile
    .split("\n")
    .flatMap((line, index) =>
      /\b(tarball|registry)\b.*:\/\//.test(line)
        ? [`pnpm-lock.yaml:${index + 1} contains a URL; install again with the default registry settings`]
        : [],
    );
}
