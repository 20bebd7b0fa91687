import type { Problems } from "./problems.ts";

/** Lines of the lockfile that say where a package was fetched from: that differs from place to place. */
export function lockfileProblems(lockfile: string): Problems {
  return lockfile
    .split("\n")
    .flatMap((line, index) =>
      /\b(tarball|registry)\b.*:\/\//.test(line)
        ? [`pnpm-lock.yaml:${index + 1} names a host; install again with the registry's default settings`]
        : [],
    );
}
